//go:build linux || darwin

package execjob

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// guardScript is run by the leader of a group, see the package comment. It ignores the
// signals that ask a group to end, reports that it listens, and waits for the end of the
// replica.
const guardScript = `trap '' HUP INT QUIT TERM USR1 USR2
echo
read -r line
kill -KILL 0`

// A group is a process group whose leader ends it when this process dies.
type group struct {
	id    int
	guard *exec.Cmd
	alive *os.File // closed by the kernel when this process dies
}

// newGroup starts the guard and returns when it is ready.
func newGroup() (*group, error) {
	listen, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer listen.Close()                                //nolint:errcheck // the guard has its own copy
	guard := exec.Command("/bin/sh", "-c", guardScript) //nolint:noctx // ended by close
	guard.Dir, guard.Env = "/", []string{}
	guard.Stdin = listen
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ready, err := guard.StdoutPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		return nil, errors.Join(err, alive.Close())
	}
	g := &group{id: guard.Process.Pid, guard: guard, alive: alive}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		return nil, errors.Join(fmt.Errorf("/bin/sh did not answer: %w", err), g.close())
	}
	return g, nil
}

// start starts cmd in the group.
func (g *group) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	return cmd.Start()
}

// others counts the processes of the group besides its guard. If they cannot be
// counted, it returns 1.
func (g *group) others() int {
	pids, err := members(g.id)
	if err != nil {
		return 1
	}
	return len(slices.DeleteFunc(pids, func(pid int) bool { return pid == g.id }))
}

// stop asks the group to end. It returns when only the guard is left, or kills the
// group after grace. Exited must be closed once the command was waited for.
func (g *group) stop(grace time.Duration, exited <-chan struct{}) {
	g.signal(syscall.SIGTERM)
	// A stopped process handles SIGTERM only after SIGCONT.
	g.signal(syscall.SIGCONT)
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-exited:
	case <-over.C:
		g.signal(syscall.SIGKILL)
		return
	}
	for pause := firstPause; g.others() > 0; pause = min(2*pause, longestPause) {
		select {
		case <-over.C:
			g.signal(syscall.SIGKILL)
			return
		case <-time.After(pause):
		}
	}
}

// Pauses between two checks of a group that is ending.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 50 * time.Millisecond
)

// close kills the rest of the group, including its guard, and returns when all of it is
// gone. The command must have been waited for.
func (g *group) close() error {
	g.signal(syscall.SIGKILL)
	// The error is the kill above.
	_ = g.guard.Wait()
	for pause := firstPause; !g.gone(); pause = min(2*pause, longestPause) {
		g.signal(syscall.SIGKILL) // a fork may have escaped the last one
		time.Sleep(pause)
	}
	return g.alive.Close()
}

// gone reports whether no process of the group is left, not counting zombies: in some
// containers the first process does not wait for them. If this process is the first, it
// inherits them and waits for them here.
func (g *group) gone() bool {
	for {
		pid, err := syscall.Wait4(-g.id, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(syscall.Kill(-g.id, 0), syscall.ESRCH) {
		return true
	}
	pids, err := members(g.id)
	return err == nil && len(pids) == 0
}

// signal sends sig to the group. A missing group is no error. The id cannot belong to
// another group: it stays taken until the guard was waited for, and close stops when
// the group is gone.
func (g *group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.id, sig)
}
