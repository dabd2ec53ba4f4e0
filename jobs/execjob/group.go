//go:build linux || darwin

package execjob

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// guardScript is what the leader of a group does: see the package comment. It
// ignores the signals with which a group is asked to end, says that it
// listens, and waits for the end of the replica.
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

// newGroup starts the guard and returns when it listens.
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

// others counts the processes of the group besides its guard. Where they
// cannot be counted there may be one.
func (g *group) others() int {
	pids, err := members(g.id)
	if err != nil {
		return 1
	}
	n := 0
	for _, pid := range pids {
		if pid != g.id {
			n++
		}
	}
	return n
}

// stop asks the group to end and returns when it has, its guard excepted, or
// after grace. exited is closed when the command, which the group may consist
// of, has been waited for.
func (g *group) stop(grace time.Duration, exited <-chan struct{}) {
	g.signal(syscall.SIGTERM)
	// A process that is stopped takes its SIGTERM only when it goes on.
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

// Pauses between two looks at a group that is ending.
const (
	firstPause   = 2 * time.Millisecond
	longestPause = 50 * time.Millisecond
)

// close kills whatever is left of the group, its guard included, and returns
// when all of it is gone. The command must have been waited for.
func (g *group) close() error {
	g.signal(syscall.SIGKILL)
	// The guard's own end is the one just asked for.
	_ = g.guard.Wait()
	for pause := firstPause; !g.gone(); pause = min(2*pause, longestPause) {
		g.signal(syscall.SIGKILL) // a fork may have escaped the last one
		time.Sleep(pause)
	}
	return g.alive.Close()
}

// gone tells whether no process of the group is left. The dead that nobody has
// waited for are gone: not every container's first process does. Where that is
// this process, it inherits them, and waits for them here.
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

// signal sends sig to the group. That none is left is no error, and the number
// cannot belong to another group: it is taken while the guard was not waited
// for, and close looks only until the group is gone.
func (g *group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.id, sig)
}
