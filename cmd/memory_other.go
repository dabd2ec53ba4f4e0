//go:build !linux

package cmd

// closeMemory does nothing: other systems have no such setting.
func closeMemory() error { return nil }
