package redistest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
)

// process is a started redis-server. done is closed when it has been waited
// for.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// launch starts redis-server, to live as long as ctx, and returns when it
// accepts connections.
func launch(ctx context.Context, bin string, args []string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, bin, args...), done: make(chan struct{})}
	p.cmd.SysProcAttr = diesWithParent()
	ready := make(chan error, 1)
	go p.run(ready)
	if err := <-ready; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// run starts the process and stays with it. The kernel ends the process when
// the thread that started it ends, so that thread is kept.
func (p *process) run(ready chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		ready <- fmt.Errorf("starting redis-server: %w", err)
		return
	}
	p.follow(out, ready)
	_ = p.cmd.Wait() // tests kill servers; how one ended is of no interest
}

// follow reads the log until the end, and tells when the server is ready, or
// what it said if it never was.
func (p *process) follow(out io.Reader, ready chan<- error) {
	var log []string
	told := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if told {
			continue
		}
		log = append(log, lines.Text())
		if strings.Contains(lines.Text(), "Ready to accept connections") || strings.Contains(lines.Text(), "Sentinel ID is") {
			told = true
			ready <- nil
		}
	}
	if !told {
		ready <- fmt.Errorf("redis-server ended before it was ready:\n%s", strings.Join(log, "\n"))
	}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}
