//go:build !linux

package sqlite

import "syscall"

func diesWithTest() *syscall.SysProcAttr { return nil }
