package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A process is a started holder.
type process struct {
	t       testing.TB
	name    string
	cmd     *exec.Cmd
	in      io.Writer
	answers *json.Decoder
	done    chan struct{}
}

// startHolder starts this binary as a holder. It ends with the test, also while
// it is frozen, and with the test binary.
func startHolder(t testing.TB, order holderOrder) *process {
	t.Helper()
	config, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, name: order.Resource + "/" + order.Name, cmd: exec.CommandContext(t.Context(), self), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), holderConfig+"="+string(config))
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.answers = in, json.NewDecoder(out)
	started := make(chan error, 1)
	go p.live(started)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// live starts the process and keeps its thread, whose end would end the process,
// until then.
func (p *process) live(started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // the test kills it; how it ended is of no interest
	}
}

// order gives a command without waiting for the answer.
func (p *process) order(command string) error {
	_, err := fmt.Fprintln(p.in, command)
	return err
}

// answer waits for the answer to a command.
func (p *process) answer() (answer, error) {
	type result struct {
		answer
		err error
	}
	got := make(chan result, 1)
	go func() {
		var r result
		r.err = p.answers.Decode(&r.answer)
		got <- r
	}()
	select {
	case r := <-got:
		if r.err == nil && r.Error != "" {
			r.err = fmt.Errorf("%s: %s", p.name, r.Error)
		}
		if r.err != nil {
			return r.answer, fmt.Errorf("%s gives no answer: %w", p.name, r.err)
		}
		return r.answer, nil
	case <-time.After(holderPatience):
		_ = p.cmd.Process.Kill() // ends the reading
		return answer{}, fmt.Errorf("%s gives no answer in %v: %w", p.name, holderPatience, (<-got).err)
	}
}

// ask gives a command and waits for the answer.
func (p *process) ask(command string) (answer, error) {
	if err := p.order(command); err != nil {
		return answer{}, err
	}
	return p.answer()
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }
