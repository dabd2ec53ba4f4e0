package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A binary is one that was built for a platform, and what Go wrote into it.
type binary struct {
	text          []byte
	arch, version string
	commit        string    // "" if it is not known
	date          time.Time // of the commit, else 1970
}

func readBinary(path string) (binary, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return binary{}, err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["GOOS"] != "linux" || settings["CGO_ENABLED"] != "0" {
		return binary{}, fmt.Errorf("%s is for %s, CGO_ENABLED=%s: build it with GOOS=linux CGO_ENABLED=0", path, settings["GOOS"], settings["CGO_ENABLED"])
	}
	b := binary{arch: settings["GOARCH"], version: info.Main.Version, commit: settings["vcs.revision"], date: time.Unix(0, 0)}
	// A build outside a clone, or in a second work tree of one, knows neither.
	if stamp := settings["vcs.time"]; stamp != "" {
		if b.date, err = time.Parse(time.RFC3339, stamp); err != nil {
			return binary{}, fmt.Errorf("%s: date of the commit: %w", path, err)
		}
	}
	b.text, err = os.ReadFile(path)
	return b, err
}

func (b binary) platform() v1.Platform { return v1.Platform{OS: "linux", Architecture: b.arch} }

func (b binary) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "quorate",
		"org.opencontainers.image.source":   "https://github.com/quorate/quorate",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.version":  b.version,
		"org.opencontainers.image.revision": b.commit,
		"org.opencontainers.image.created":  b.date.UTC().Format(time.RFC3339),
	}
}
