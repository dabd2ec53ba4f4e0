package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// localFileSystems are those whose locks and shared memory hold for all processes of one kernel, by
// the type that statfs returns.
func localFileSystems() map[int64]string {
	return map[int64]string{
		unix.EXT4_SUPER_MAGIC: "ext", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", 0x2fc12fc1: "zfs",
		unix.F2FS_SUPER_MAGIC: "f2fs", unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
	}
}

// otherFileSystems are the names of some that are refused.
func otherFileSystems() map[int64]string {
	return map[int64]string{
		unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", 0xff534d42: "SMB (cifs)", 0xfe534d42: "SMB", unix.FUSE_SUPER_MAGIC: "FUSE or virtiofs",
		unix.V9FS_MAGIC: "9p", 0x786f4256: "a folder shared by VirtualBox", unix.CEPH_SUPER_MAGIC: "CephFS", 0x0bd00bd0: "Lustre", 0x01161970: "GFS2", 0x7461636f: "OCFS2",
	}
}

// checkFileSystem refuses directories on file systems that are not known to be local.
func checkFileSystem(dir string) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return refuse("the file system of %s cannot be found out: %w", dir, err)
	}
	kind := int64(s.Type) & 0xffffffff //nolint:unconvert // the field has another width on other processors
	if localFileSystems()[kind] != "" {
		return nil
	}
	name, known := otherFileSystems()[kind]
	if !known {
		name = fmt.Sprintf("of type %#x", kind)
	}
	return refuse("%s is on a file system (%s) that is not known to be local: its locks may not hold for all processes, and then ticks run twice. "+
		"Use a directory on ext4, xfs, btrfs, zfs, f2fs, tmpfs or overlayfs; replicas on several hosts need another store", dir, name)
}
