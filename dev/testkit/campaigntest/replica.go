package campaigntest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
)

// A Replica is a process of one.
type Replica struct {
	ID string
	// Exited is closed once it has ended.
	Exited chan struct{}

	t       *testing.T
	cmd     *exec.Cmd
	foreign bool // of another release

	mu     sync.Mutex
	lines  []string
	frozen []checker.Span
	killed bool
	ended  time.Time
}

// Start starts a replica. It ends with the test, and with the test binary.
func Start(t *testing.T, config, id string, args ...string) *Replica {
	t.Helper()
	return StartBinary(t, os.Args[0], config, id, args...)
}

// StartBinary does so with a program that may be of another release.
func StartBinary(t *testing.T, binary, config, id string, args ...string) *Replica {
	t.Helper()
	r := &Replica{ID: id, Exited: make(chan struct{}), t: t, foreign: binary != os.Args[0]}
	r.cmd = Program(context.WithoutCancel(t.Context()), binary, append([]string{"run", "--config", config, "--set", "replica/id=" + id}, args...)...)
	r.cmd.SysProcAttr = diesWithTest()
	log, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go r.live(log, started)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Signal(syscall.SIGKILL)
		<-r.Exited
		if t.Failed() {
			t.Logf("log of %s:\n%s", id, strings.Join(r.lines[max(len(r.lines)-6000, 0):], "\n"))
		}
	})
	return r
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
	for scan := bufio.NewScanner(log); scan.Scan(); {
		r.mu.Lock()
		r.lines = append(r.lines, scan.Text())
		r.mu.Unlock()
	}
	_ = r.cmd.Wait() // how it ended is in its log
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = time.Now()
}

// Signal sends a signal, if the process has not ended.
func (r *Replica) Signal(s syscall.Signal) { _ = r.cmd.Process.Signal(s) }

// Log is what it has logged so far.
func (r *Replica) Log() string { return strings.Join(r.logged(0), "\n") }

// logged are the lines of its log from the given one on.
func (r *Replica) logged(from int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines[from:])
}

// AwaitLog waits for a line that matches, also one that it has logged already.
func (r *Replica) AwaitLog(pattern string) string {
	r.t.Helper()
	re := regexp.MustCompile(pattern)
	read := 0
	for until, ended := time.Now().Add(patience), false; ; {
		lines := r.logged(read)
		if n := slices.IndexFunc(lines, re.MatchString); n >= 0 {
			return lines[n]
		}
		if ended || time.Now().After(until) {
			r.t.Fatalf("%s has not logged %q", r.ID, pattern)
		}
		read += len(lines)
		select {
		case <-r.Exited: // its last lines count
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Ready waits until it can run ticks.
func (r *Replica) Ready() {
	r.t.Helper()
	r.AwaitLog(`"ready"`)
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
		r.frozen = append(r.frozen, checker.Span{From: from, To: time.Now()})
	}
}

// ExitCode waits until the process has ended.
func (r *Replica) ExitCode() int {
	r.t.Helper()
	select {
	case <-r.Exited:
	case <-time.After(patience):
		r.t.Fatalf("%s has not ended", r.ID)
	}
	return r.cmd.ProcessState.ExitCode()
}

// Drain ends the process as an operator would.
func (r *Replica) Drain() {
	r.t.Helper()
	r.Signal(syscall.SIGTERM)
	r.Drained()
}

// Drained waits until the process has ended well.
func (r *Replica) Drained() {
	r.t.Helper()
	if code := r.ExitCode(); code != 0 {
		r.t.Errorf("%s exited with %d after SIGTERM", r.ID, code)
	}
}

// Incarnation is the log of the process, and its end. Another release may have other messages, so
// only its end counts, and what it did.
func (r *Replica) Incarnation() checker.Incarnation {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := checker.Incarnation{Replica: r.ID, Foreign: true}
	if !r.foreign {
		l = checker.ParseLog(r.ID, r.lines)
	}
	l.Until, l.Killed, l.Frozen = r.ended, r.killed, slices.Clone(r.frozen)
	return l
}
