package execjob

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// members lists the living processes of a process group.
func members(group int) ([]int, error) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err == nil && isMember(pid, group) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Places in /proc/PID/stat after the name, which may hold anything.
const (
	stateField   = 0
	groupField   = 2
	threadsField = 17
)

// isMember reports whether pid is in the group and alive. A process whose first
// thread has ended looks dead while its other threads go on.
func isMember(pid, group int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // it has gone meanwhile
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= threadsField || string(fields[groupField]) != strconv.Itoa(group) {
		return false
	}
	threads, _ := strconv.Atoi(string(fields[threadsField]))
	switch string(fields[stateField]) {
	case "Z", "X":
		return threads > 1
	}
	return true
}
