package sqlite

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/quorate/quorate/dev/testkit/length"
)

// diskPath names a directory on which the test mounts a small disk, in a process that nobody else sees
// the mounts of.
const diskPath = "QUORATE_TEST_SQLITE_DISK"

// TestFullDisk fills a disk of 600 KiB. Commits are refused then, and go on when there is space. It runs at
// full length, since it needs the right to mount: that of root, or a kernel that lets users have
// namespaces. TestFull does the like without.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(diskPath); dir != "" {
		fillDisk(t, dir)
		return
	}
	if !length.Whole() {
		return
	}
	child := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^TestFullDisk$")
	child.Env = append(os.Environ(), diskPath+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		child.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: id, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v: run this test as root, or allow user namespaces: %s", err, out)
	}
}

func fillDisk(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Fatal(err)
	}
	ballast, path := filepath.Join(dir, "ballast"), filepath.Join(dir, "quorate.db")
	write(t, ballast, string(make([]byte, 200<<10)))
	s := newStore(t, path, client)
	all := fill(t, s)
	checkWins(t, path, all)
	remove(t, ballast)
	more := fill(t, s)
	if len(all) == 0 || len(more) == 0 {
		t.Errorf("%d numbers were won, and %d with more space", len(all), len(more))
	}
	checkWins(t, path, append(all, more...))
	checkWhole(t, path)
}
