//go:build !linux

package campaigntest

import "syscall"

// diesWithTest is a service of Linux only.
func diesWithTest() *syscall.SysProcAttr { return nil }
