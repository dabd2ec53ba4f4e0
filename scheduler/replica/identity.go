package replica

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime/debug"
)

// identify returns the id that is set, else the host's name and random
// digits: two processes of one host must never share an id.
func identify(id string) string {
	if id != "" {
		return id
	}
	host, err := os.Hostname()
	if err != nil {
		host = "replica"
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return host + "-" + hex.EncodeToString(random[:])
}

// programName tells the program of this process from those of other services: the path of its main
// package, or the name of its file if the path is the same for all, as after `go run main.go`.
func programName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		return info.Path
	}
	file, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Base(file)
}
