package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/cmd/internal/top"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
)

// A pty is a terminal, with the test as its user.
type pty struct {
	t     *testing.T
	front *os.File // for the test
	back  *os.File // for the program

	mu    sync.Mutex
	shown strings.Builder
}

func openPty(t *testing.T, width, height uint16) *pty {
	t.Helper()
	front, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	raw := int(front.Fd())
	n, err := unix.IoctlGetInt(raw, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(raw, unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	back, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{t: t, front: front, back: back}
	p.resize(width, height)
	var read sync.WaitGroup
	read.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := front.Read(buf)
			p.mu.Lock()
			p.shown.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = back.Close() // then the front reads its end
		read.Wait()
		_ = front.Close()
		if t.Failed() {
			all := p.shown.String()
			t.Logf("the terminal was told last %q", all[max(0, len(all)-1500):])
		}
	})
	return p
}

func (p *pty) resize(width, height uint16) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.front.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		p.t.Fatal(err)
	}
}

// modes is how the terminal is set.
func (p *pty) modes() unix.Termios {
	p.t.Helper()
	modes, err := unix.IoctlGetTermios(int(p.back.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *modes
}

func (p *pty) press(keys string) {
	p.t.Helper()
	if _, err := p.front.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// shows waits until the terminal got a text since the last wait.
func (p *pty) shows(text string) {
	p.t.Helper()
	eventually(p.t, "the terminal shows "+text, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, after, found := strings.Cut(p.shown.String(), text)
		if found {
			p.shown.Reset()
			p.shown.WriteString(after)
		}
		return found
	})
}

// topProcess starts `quorate top` on the terminal, in a session of its own.
func topProcess(t *testing.T, p *pty, args ...string) (*exec.Cmd, <-chan error) {
	t.Helper()
	c := campaigntest.Program(context.WithoutCancel(t.Context()), os.Args[0], append([]string{"top"}, args...)...)
	c.Env = append(c.Env, "TERM=xterm", "NO_COLOR=1")
	c.Stdin, c.Stdout, c.Stderr = p.back, p.back, p.back
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() { ended <- c.Wait() })
	t.Cleanup(func() {
		_ = c.Process.Kill()
		wait.Wait()
	})
	return c, ended
}

// TestTopOnATerminal: top restores the terminal after any end; it follows its size, and can
// be suspended.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	config := writeConfig(t, servers, "")
	initNew(t, config)
	send := func(sig syscall.Signal) func(*pty, *exec.Cmd) {
		return func(_ *pty, c *exec.Cmd) { _ = c.Process.Signal(sig) }
	}
	for _, tc := range []struct {
		name string
		end  func(*pty, *exec.Cmd)
	}{
		{"q", func(p *pty, _ *exec.Cmd) { p.press("q") }},
		{"Ctrl-C", func(p *pty, _ *exec.Cmd) { p.press("\x03") }},
		{"SIGTERM", send(syscall.SIGTERM)},
		{"SIGHUP", send(syscall.SIGHUP)},
		{"all else", func(p *pty, c *exec.Cmd) {
			p.press("?")
			p.shows("Ctrl-Z      suspend")
			p.press("\x1b[A\x1bq?") // an arrow key does nothing, nor one with Alt
			p.resize(100, 30)
			p.shows("No replica runs")
			p.shows(strings.Repeat(" ", 25) + "every 2s  ? help  q quit")
			before := p.modes()
			p.press("\x1a")
			p.shows(leaveScreen)
			eventually(p.t, "it is stopped", func() bool { return stopped(c.Process.Pid) })
			_ = c.Process.Signal(syscall.SIGCONT)
			p.shows(enterScreen)
			p.shows("No replica runs")
			if p.modes() != before {
				p.t.Error("after it was suspended the terminal is set otherwise")
			}
			servers[0].Kill()
			servers[1].Kill()
			p.shows("1 of 3 nodes votes: no quorum.")
			p.shows("s old: ")
			p.press("q")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := openPty(t, 80, 24)
			before := p.modes()
			c, ended := topProcess(t, p, "-c", config, "--set", "redis/node_timeout=700ms")
			p.shows(enterScreen)
			p.shows("3 of 3 nodes vote; one more loss is fine.\r\n")
			if p.modes() == before {
				t.Error("keys still wait for the end of a line")
			}
			tc.end(p, c)
			p.shows(leaveScreen)
			if err := <-ended; err != nil {
				t.Errorf("it ends with %v", err)
			}
			if p.modes() != before {
				t.Error("the terminal is not set as it was")
			}
		})
	}
}

// TestTopActs: keys trigger, pause and resume a job once that is confirmed, with an entry in the
// audit log, and show the job. A refusal is shown, too.
func TestTopActs(t *testing.T) {
	t.Parallel()
	token, stored := gate.NewToken()
	addr := freeAddr(t)
	config := writeConfig(t, redistest.StartN(t, 3), `
http: {listen: "`+addr+`", users: {eve: {role: viewer, token: "`+stored+`"}}}
jobs:
  other: {func: exec, schedule: "@yearly", params: {command: [echo, hello]}}
  report: {func: exec, schedule: "@yearly", params: {command: [echo, hello]}}
`)
	initNew(t, config)
	campaigntest.Start(t, config, "a")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	p := openPty(t, 100, 24)
	_, ended := topProcess(t, p, "-c", config, "--set", "redis/node_timeout=700ms", "--as", "ann")
	store := operator{t, []string{"-c", config, "--set", "redis/node_timeout=700ms"}}
	p.shows("·  report")
	p.press("/REPO")
	p.shows("/REPO█")
	p.press("\r\x1b[B\x1bOA") // an arrow down, and one up
	p.shows("·▸ report")
	p.press("t")
	p.shows("Trigger report now? y/n")
	p.press("jn")
	p.press("t")
	p.shows("Trigger report now? y/n")
	if rows := ask[view.Command](store, "audit"); len(rows) != 0 {
		t.Errorf("before the answer there is %+v", rows)
	}
	p.press("y")
	p.shows("report: requested run report@")
	p.press("p")
	p.shows("Pause report. Reason: ")
	p.press("the bank is down\r")
	p.shows(`Pause report, reason "the bank is down", skipping its ticks until it is resumed? y/n`)
	p.press("y")
	p.shows("report: paused by ann; replicas follow within two seconds")
	p.press("\r")
	p.shows("Its ticks are skipped: ")
	p.shows("Schedule  @yearly")
	p.shows("Policies  ")
	p.shows("succeeded")
	p.press("p")
	p.shows("Resume report? It was paused by ann at ")
	p.press("y")
	p.shows("report: resumed by ann; replicas follow within two seconds")
	p.press("\x1b") // alone
	p.shows("NEXT\r\n")
	p.press("q")
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
	var audit []string
	for _, c := range ask[view.Command](store, "audit") {
		audit = append(audit, strings.Join([]string{string(c.Kind), c.Target(), view.Text(c.By), view.Text(c.Reason)}, " "))
	}
	if got := strings.Join(audit, "; "); got != "resume report ann ; pause report ann the bank is down; trigger report ann " {
		t.Errorf("the audit log has %q", got)
	}

	p = openPty(t, 100, 24)
	topProcess(t, p, "--server", "http://"+addr, "--token-file", file)
	p.shows("·  report")
	p.press("/rep\rt")
	p.shows("Trigger report. Reason: █")
	p.press("why not\ry")
	p.shows("trigger of report: ")
	p.shows("viewer")
	p.press("\r")
	p.shows("Schedule  @yearly")
}

// A slowCluster answers about single jobs, and to commands, only when it is told to.
type slowCluster struct {
	view.Service
	jobs, commands chan struct{}
}

func (slowCluster) Nodes(context.Context) ([]view.Node, error)       { return nil, nil }
func (slowCluster) Replicas(context.Context) ([]view.Replica, error) { return nil, nil }
func (slowCluster) Pauses(context.Context) ([]view.Command, error)   { return nil, nil }
func (slowCluster) Next(_ context.Context, _ string, now time.Time, _ int) ([]view.Next, error) {
	return []view.Next{{Job: "report", Tick: *view.Stamp(now.Add(time.Hour))}, {Job: "second", Tick: *view.Stamp(now.Add(2 * time.Hour))}}, nil
}

func (slowCluster) Ticks(context.Context, view.EntryQuery) (view.Page[view.Tick], error) {
	return view.Page[view.Tick]{}, nil
}

func (c slowCluster) Jobs(ctx context.Context, _ view.JobQuery) (p view.Page[view.Job], err error) {
	select {
	case <-c.jobs:
		return p, nil
	case <-ctx.Done():
		return p, ctx.Err()
	}
}

func (c slowCluster) Trigger(ctx context.Context, command commands.Command) (view.Command, error) {
	<-c.commands
	return view.Command{}, errors.Join(ctx.Err(), errors.New("the store refuses "+string(command.Kind)+" by "+command.By))
}

// TestTopNeverWaits: keys work while the cluster does not answer. Once given, a command is awaited
// even when the user quits, and its failure is reported.
func TestTopNeverWaits(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	c := slowCluster{jobs: make(chan struct{}), commands: make(chan struct{})}
	p := openPty(t, 80, 24)
	ended := make(chan error, 1)
	var run sync.WaitGroup
	run.Go(func() {
		ended <- top.Run(t.Context(), p.back, p.back, cluster.Cluster{Service: c}, top.Options{Every: time.Hour, Back: time.Hour, By: "ann"})
	})
	t.Cleanup(run.Wait)
	p.shows("·▸ report")
	p.press("\r")
	p.shows("Reading the job …")
	p.press("\x1b")
	p.shows("·▸ report")
	p.press("j\r")
	p.shows("second\r\n")
	p.shows("Reading the job …")
	p.shows("Reading the job …") // the second ticker draws again: nothing was read
	c.jobs <- struct{}{}
	p.shows("No replica has published this job.")
	p.press("ty")
	p.shows("Waiting for the trigger of second …")
	p.press("ty")
	p.shows("Not done: the last command is not answered yet.")
	p.press("\x03")
	p.shows(leaveScreen)
	select {
	case err := <-ended:
		t.Errorf("it does not wait for the command: %v", err)
	default:
	}
	close(c.commands)
	if err := <-ended; err == nil || err.Error() != "the store refuses trigger by ann" {
		t.Errorf("it ends with %v", err)
	}
}

// stopped reports whether a process was stopped by a signal.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := strings.Cut(string(stat), ") ")
	return err == nil && found && strings.HasPrefix(state, "T")
}

// top's control sequences at its beginning and at its end.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// crashing is a cluster whose nodes cannot be listed because of a bug.
type crashing struct{ view.Service }

func (crashing) Nodes(context.Context) ([]view.Node, error) { panic("no map") }

// TestTopCrash: a crash while reading restores the terminal, and is reported afterwards.
func TestTopCrash(t *testing.T) {
	t.Setenv("TERM", "xterm")
	p := openPty(t, 80, 24)
	before := p.modes()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := top.Run(ctx, p.back, p.back, cluster.Cluster{Service: crashing{}}, top.Options{Every: time.Second, Back: time.Hour}); err == nil || !strings.Contains(err.Error(), "bug: no map") {
		t.Errorf("it ends with %v", err)
	}
	p.shows(enterScreen)
	p.shows(leaveScreen)
	if p.modes() != before {
		t.Error("the terminal is not set as it was")
	}
}

// TestTopOnce: where there is no terminal, one frame is printed, with the exit code
// of the cluster.
func TestTopOnce(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 3)
	config := writeConfig(t, servers, "")
	initNew(t, config)
	args := []string{"top", "-c", config, "--set", "redis/node_timeout=700ms"}
	stdout, stderr, code := quorate(t, args...)
	if code != exitDone || !strings.Contains(stdout, "3 of 3 nodes vote; one more loss is fine.\n") || strings.Contains(stdout, "\x1b") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	servers[0].Kill()
	servers[1].Kill()
	stdout, stderr, code = quorate(t, args...)
	if code != exitNoQuorum || !strings.Contains(stdout, "1 of 3 nodes votes: no quorum.") || !strings.Contains(stderr, "no quorum") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, wrong := range []string{"--every=100ms", "--since=1s"} {
		if _, stderr, code := quorate(t, append(args, wrong)...); code != exitUsage || !strings.Contains(stderr, wrong[:6]) {
			t.Errorf("%s: exit code %d, %s", wrong, code, stderr)
		}
	}
}

// TestListingOnATerminal: a listing fits the terminal that it is written to.
func TestListingOnATerminal(t *testing.T) {
	t.Parallel()
	p := openPty(t, 60, 24)
	row := view.NewTick(cmdtest.Entries()[1])
	if err := tickTable([]view.Tick{row}).Print(p.back, "table"); err != nil {
		t.Fatal(err)
	}
	p.shows("    why: exit status 3: no space left on device\r\n")
	output.Remark(p.back, "a:1", "a sentence that is longer than the sixty columns of this terminal are")
	p.shows("a:1: a sentence that is longer than the sixty columns of\r\n    this terminal are\r\n")
}
