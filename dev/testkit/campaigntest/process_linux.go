package campaigntest

import "syscall"

// diesWithTest makes the kernel end the process if the test binary dies before it can.
func diesWithTest() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
