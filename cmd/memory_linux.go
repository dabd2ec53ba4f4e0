package cmd

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// denyMemoryAccess keeps other processes of this user, such as commands of jobs, from reading the
// environment and the memory of this one. Root still may. The process writes no core file.
func denyMemoryAccess() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("the commands of jobs can read the replica's environment: prctl: %w", err)
	}
	return nil
}
