package pgcampaign_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/internal/truth"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
)

// actAsQuorate makes the test binary be the quorate binary, with the race detector if the
// tests have it.
const actAsQuorate = "GO_TEST_ACT_AS_QUORATE"

func TestMain(m *testing.M) {
	if os.Getenv(actAsQuorate) != "" {
		cmd.Main(registry())
	}
	logging.Disable() // of go-redis, also for commands that run in this process
	os.Exit(m.Run())
}

func registry() *jobs.Registry {
	r := jobs.NewRegistry()
	execjob.Register(r)
	jobs.Register(r, "transfer", transfer)
	return r
}

// A process is a replica that runs as a process of its own.
type process struct {
	t   *testing.T
	id  string
	cmd *exec.Cmd

	mu     sync.Mutex
	lines  []string
	frozen []truth.Span
	killed bool
	ended  time.Time
	exited chan struct{}
}

// startReplica starts `quorate run`. The process ends with the test.
func startReplica(t *testing.T, config, id string) *process {
	t.Helper()
	p := &process{t: t, id: id, exited: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0],
		"run", "--config", config, "--set", "replica/id="+id)
	p.cmd.Env = append(os.Environ(), actAsQuorate+"=1")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			p.add(scan.Text())
		}
		_ = p.cmd.Wait() // how it ended is in its log
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = time.Now()
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.exited
		if t.Failed() {
			lines := p.log()
			t.Logf("log of %s:\n%s", p.id, strings.Join(lines[max(len(lines)-6000, 0):], "\n"))
		}
	})
	return p
}

func (p *process) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

func (p *process) log() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// ready waits until the replica can run ticks.
func (p *process) ready() {
	p.t.Helper()
	eventually(p.t, p.id+" is ready", func() bool {
		select {
		case <-p.exited:
			p.t.Fatalf("%s has ended before it was ready", p.id)
		default:
		}
		return strings.Contains(strings.Join(p.log(), "\n"), `"ready"`)
	})
}

// kill ends the process as a crash would.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// freeze stops the process for a while.
func (p *process) freeze(d time.Duration) {
	p.t.Helper()
	thaw := p.sleep()
	wait(p.t, d)
	thaw()
}

// sleep stops the process until thaw is called.
func (p *process) sleep() (thaw func()) {
	p.signal(syscall.SIGSTOP)
	from := time.Now()
	return func() {
		p.signal(syscall.SIGCONT)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.frozen = append(p.frozen, truth.Span{From: from, To: time.Now()})
	}
}

// drain ends the process as an operator would.
func (p *process) drain() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("%s has not ended", p.id)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s exited with %d after SIGTERM", p.id, code)
	}
}

// life is the log of the process, and its end.
func (p *process) life() truth.Life {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := truth.ParseLog(p.id, p.lines)
	l.Until, l.Killed, l.Frozen = p.ended, p.killed, p.frozen
	return l
}

// patience bounds waits that end by themselves when the code is right.
const patience = 60 * time.Second

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !f(); wait(t, 50*time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("still waiting: %s", what)
		}
	}
}

// wait lets the processes under test work for a while.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
