// This test compiles every program: make release-check.

//go:build release

package release

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestGoInstall installs each program by its version from the tags of a clone, as people do from
// those of the repository. Other modules come from the module cache, so it needs no network.
func TestGoInstall(t *testing.T) {
	b, bin := tagged(t), t.TempDir()
	env := []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + b.tree + ".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/quorate/quorate",
		"GONOPROXY=github.com/quorate/quorate", "GOPROXY=file://" + call(t, ".", nil, "go", "env", "GOMODCACHE") + "/cache/download", "GOSUMDB=off",
		"GOMODCACHE=" + t.TempDir(), "GOBIN=" + bin,
		"CGO_ENABLED=0", "GOFLAGS=-trimpath -modcacherw", // what the build has compiled serves again
	}
	for program := range programs {
		path := "cmd/quorate"
		if store, is := strings.CutPrefix(program, "quorate-"); is {
			path = "stores/" + store + "/" + program
		}
		t.Run(program, func(t *testing.T) {
			call(t, t.TempDir(), env, "go", "install", "github.com/quorate/quorate/"+path+"@v"+b.version)
			got, want := call(t, ".", nil, filepath.Join(bin, program), "version"), program+" v"+b.version+" "
			if !strings.HasPrefix(got, want) || strings.Contains(got, "commit") {
				t.Errorf("the binary says %q, want %q and no commit", got, want)
			}
		})
	}
}
