package inode

import (
	"os"

	"golang.org/x/sys/unix"
)

// Of returns the ID of the file that is at a path now. It follows symbolic links. The error matches
// fs.ErrNotExist if there is none.
func Of(path string) (ID, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return ID{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return ID{s.Ino, s.Btim.Nano()}, nil
}
