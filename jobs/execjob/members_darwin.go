package execjob

import "golang.org/x/sys/unix"

// zombie is the state of a process that has ended and was not waited for
// (SZOMB of <sys/proc.h>).
const zombie = 5

// members lists the living processes of a process group.
func members(group int) ([]int, error) {
	procs, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range procs {
		if p.Proc.P_stat != zombie {
			pids = append(pids, int(p.Proc.P_pid))
		}
	}
	return pids, nil
}
