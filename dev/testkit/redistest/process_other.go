//go:build !linux

package redistest

import "syscall"

// diesWithParent is a service of Linux only.
func diesWithParent() *syscall.SysProcAttr { return nil }
