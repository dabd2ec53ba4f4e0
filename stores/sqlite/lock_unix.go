//go:build linux || darwin

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// lockOpened locks a file or directory until it is closed, or reports that it is busy.
func lockOpened(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errBusy
	}
	return err
}
