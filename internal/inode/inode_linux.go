package inode

import (
	"os"

	"golang.org/x/sys/unix"
)

// Of returns the ID of the file that is at a path now. It follows symbolic links. The error matches
// fs.ErrNotExist if there is none.
func Of(path string) (ID, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &s); err != nil {
		return ID{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	id := ID{Number: s.Ino}
	if s.Mask&unix.STATX_BTIME != 0 {
		id.Birth = s.Btime.Sec*1_000_000_000 + int64(s.Btime.Nsec)
	}
	return id, nil
}
