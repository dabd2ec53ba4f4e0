package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds waits that end by themselves when the code is right.
const patience = 60 * time.Second

// A process is a replica that runs as a process of its own.
type process struct {
	t    *testing.T
	id   string
	cmd  *exec.Cmd
	done chan struct{}
	url  chan string // where it serves the dashboard

	mu    sync.Mutex
	lines []string
}

// startReplica starts a replica. It ends with the test, also while it is frozen, and
// with the test binary.
func startReplica(t *testing.T, config, id string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, id: id, done: make(chan struct{}), url: make(chan string, 1)}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), self, "run", "--config", config, "--set", "replica/id="+id)
	p.cmd.Env = append(os.Environ(), actAsReplica+"=1")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go p.live(log, started)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", p.id, p.tail(30))
		}
	})
	return p
}

// live starts the process and keeps its thread, whose end would end the process,
// until then.
func (p *process) live(log io.Reader, started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	for scan := bufio.NewScanner(log); scan.Scan(); {
		p.read(scan.Text())
	}
	_ = p.cmd.Wait() // the test kills it; how it ended is of no interest
}

func (p *process) read(line string) {
	p.mu.Lock()
	p.lines = append(p.lines, line)
	p.mu.Unlock()
	var said struct {
		Msg, URL string
	}
	if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "serving the API" {
		p.url <- said.URL
	}
}

func (p *process) tail(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines[max(len(p.lines)-n, 0):], "\n")
}

// serves waits until the replica serves the dashboard, and returns where.
func (p *process) serves() string {
	p.t.Helper()
	select {
	case url := <-p.url:
		return strings.TrimSuffix(url, "/")
	case <-p.done:
		p.t.Fatalf("%s has ended:\n%s", p.id, p.tail(30))
	case <-time.After(patience):
		p.t.Fatalf("%s does not serve:\n%s", p.id, p.tail(30))
	}
	return ""
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process as a crash would.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}
