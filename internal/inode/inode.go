// Package inode tells files apart: the one at a path from those that were there before, or come later.
package inode

// An ID is the number of a file, with the time of its birth if the file system knows it: numbers are
// given again soon after a file was deleted. The zero ID is that of no file.
type ID struct {
	Number uint64
	Birth  int64 // in nanoseconds since 1970; 0: the file system does not know it
}
