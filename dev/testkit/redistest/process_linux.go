package redistest

import "syscall"

// diesWithParent makes the kernel end the process if the test binary dies
// before it can.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
