package sqlite

import "syscall"

// diesWithTest makes the kernel end a worker if the test binary dies before it can.
func diesWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
