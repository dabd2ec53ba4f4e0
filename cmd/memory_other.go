//go:build !linux

package cmd

// denyMemoryAccess does nothing: only on Linux does Quorate keep other processes of its user from
// reading its memory and environment.
func denyMemoryAccess() error { return nil }
