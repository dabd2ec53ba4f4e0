package sqlite

import "golang.org/x/sys/unix"

// checkFileSystem refuses directories on file systems that are not known to be local.
func checkFileSystem(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return refuse("the file system of %s cannot be found out: %w", dir, err)
	}
	switch name := unix.ByteSliceToString(s.Fstypename[:]); name {
	case "apfs", "hfs":
		return nil
	default:
		return refuse("%s is on a file system (%s) that is not known to be local: its locks may not hold for all processes, and then ticks run twice. "+
			"Use a directory on APFS or HFS+; replicas on several hosts need another store", dir, name)
	}
}
