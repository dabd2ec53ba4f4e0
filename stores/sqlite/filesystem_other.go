//go:build !linux && !darwin

package sqlite

import (
	"errors"
	"os"
	"runtime"
)

// checkFileSystem refuses all: nothing was tested here.
func checkFileSystem(string) error {
	return refuse("SQLite is supported on Linux and macOS, not on %s: use another store", runtime.GOOS)
}

func lockOpened(*os.File) error { return errors.ErrUnsupported }
