package campaigntest

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/truth"
)

// A Replica is a process of one.
type Replica struct {
	// Exited is closed once it has ended.
	Exited chan struct{}

	t     *testing.T
	id    string
	cmd   *exec.Cmd
	ready chan struct{} // closed once it can run ticks

	mu     sync.Mutex
	lines  []string
	frozen []truth.Span
	killed bool
	ended  time.Time
}

// Start starts a replica. It ends with the test, and with the test binary.
func (c *Campaign) Start(id string) {
	c.Helper()
	config := c.Config
	if id == Outsider {
		config = cmp.Or(c.outsiders, config)
	}
	r := &Replica{t: c.T, id: id, Exited: make(chan struct{}), ready: make(chan struct{})}
	r.cmd = program(context.WithoutCancel(c.Context()), "run", "--config", config, "--set", "replica/id="+id)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := r.cmd.StderrPipe()
	if err != nil {
		c.Fatal(err)
	}
	started := make(chan error, 1)
	go r.live(log, started)
	if err := <-started; err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		r.Signal(syscall.SIGKILL)
		<-r.Exited
		if c.Failed() {
			c.Logf("log of %s:\n%s", id, strings.Join(r.lines[max(len(r.lines)-6000, 0):], "\n"))
		}
	})
	c.Replicas[id] = r
	c.lives = append(c.lives, r)
}

// live starts the process and reads its log. It keeps its thread, whose end would end the
// process.
func (r *Replica) live(log io.Reader, started chan<- error) {
	defer close(r.Exited)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	isReady := sync.OnceFunc(func() { close(r.ready) })
	for scan := bufio.NewScanner(log); scan.Scan(); {
		r.mu.Lock()
		r.lines = append(r.lines, scan.Text())
		r.mu.Unlock()
		if strings.Contains(scan.Text(), `"ready"`) {
			isReady()
		}
	}
	_ = r.cmd.Wait() // how it ended is in its log
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = time.Now()
}

// Signal sends a signal, if the process has not ended.
func (r *Replica) Signal(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

// Ready waits until all replicas can run ticks.
func (c *Campaign) Ready() {
	c.Helper()
	for id, r := range c.Replicas {
		select {
		case <-r.ready:
		case <-r.Exited:
			c.Fatalf("%s has ended before it was ready", id)
		case <-time.After(patience):
			c.Fatalf("%s is not ready", id)
		}
	}
}

// Kill ends the process as a crash would.
func (r *Replica) Kill() {
	r.mu.Lock()
	r.killed = true
	r.mu.Unlock()
	r.Signal(syscall.SIGKILL)
	<-r.Exited
}

// Freeze stops the process until thaw is called.
func (r *Replica) Freeze() (thaw func()) {
	r.Signal(syscall.SIGSTOP)
	from := time.Now()
	return func() {
		r.Signal(syscall.SIGCONT)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.frozen = append(r.frozen, truth.Span{From: from, To: time.Now()})
	}
}

// Drain ends the process as an operator would.
func (r *Replica) Drain() {
	r.t.Helper()
	r.Signal(syscall.SIGTERM)
	select {
	case <-r.Exited:
	case <-time.After(patience):
		r.t.Fatalf("%s has not ended", r.id)
	}
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Errorf("%s exited with %d after SIGTERM", r.id, code)
	}
}

// life is the log of the process, and its end.
func (r *Replica) life() truth.Life {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := truth.ParseLog(r.id, r.lines)
	l.Until, l.Killed, l.Frozen = r.ended, r.killed, slices.Clone(r.frozen)
	return l
}
