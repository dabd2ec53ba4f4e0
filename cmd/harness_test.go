package cmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/truth"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
	"github.com/quorate/quorate/jobs/httpjob"
)

// actAsQuorate makes the test binary be the quorate binary, so that tests run
// real processes of the code under test, with the race detector if they have it.
const actAsQuorate = "GO_TEST_ACT_AS_QUORATE"

func TestMain(m *testing.M) {
	if os.Getenv(actAsQuorate) != "" {
		registry := builtins()
		jobs.Register(registry, "write-twice", writeTwice)
		Main(registry)
	}
	// Most of the time these tests wait for processes. A -parallel that is given counts.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func builtins() *jobs.Registry {
	registry := jobs.NewRegistry()
	execjob.Register(registry)
	httpjob.Register(registry)
	return registry
}

// quorate runs one command in this process.
func quorate(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	app := App{Registry: builtins(), In: strings.NewReader(""), Out: &out, Err: &errs}
	code = app.Exec(t.Context(), args)
	return out.String(), errs.String(), code
}

// list runs a listing that must succeed and decodes its JSON.
func list[R any](t *testing.T, args ...string) []R {
	t.Helper()
	stdout, stderr, code := quorate(t, append(args, "-o", "json")...)
	if code != exitDone {
		t.Fatalf("quorate %v: exit code %d: %s", args, code, stderr)
	}
	var rows []R
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil {
		t.Fatalf("quorate %v: %v in %s", args, err, stdout)
	}
	return rows
}

// writeConfig writes a configuration for the servers and returns its path.
// Leases are short, so that a campaign sees many of them end.
func writeConfig(t *testing.T, servers []*redistest.Server, rest string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf(`namespace: campaign
redis:
  nodes: [%s]
  restart_grace: 4s
lock: {ttl: 3s, safety_margin: 1200ms}
log: {format: json}
%s`, strings.Join(redistest.URLs(servers), ", "), rest)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// patient returns the configuration at path for commands on a busy machine: they wait
// longer for a node than the replicas do, whose leases allow no more.
func patient(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "patient.yaml")
	if err := os.WriteFile(path, bytes.Replace(text, []byte("redis:\n"), []byte("redis:\n  node_timeout: 700ms\n"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A process is a replica that runs as a process of its own.
type process struct {
	t   *testing.T
	id  string
	cmd *exec.Cmd

	mu     sync.Mutex
	lines  []string
	waits  []chan string // each gets every line from its begin on
	frozen []truth.Span
	other  bool // of another release
	killed bool
	ended  time.Time
	exited chan struct{}
}

// startReplica starts `quorate run`; the process ends with the test.
func startReplica(t *testing.T, config, id string, args ...string) *process {
	t.Helper()
	return startBinary(t, os.Args[0], config, id, args...)
}

// startBinary does so with the binary of some release.
func startBinary(t *testing.T, binary, config, id string, args ...string) *process {
	t.Helper()
	p := &process{t: t, id: id, other: binary != os.Args[0], exited: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary,
		append([]string{"run", "--config", config, "--set", "replica/id=" + id}, args...)...)
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
		_ = p.cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = time.Now()
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.exited
		if t.Failed() {
			t.Logf("log of %s:\n%s", p.id, p.tail(60))
		}
	})
	return p
}

func (p *process) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
	for _, w := range p.waits {
		select {
		case w <- line:
		default: // it is no longer read
		}
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process as a crash would.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// freeze stops the process while f runs.
func (p *process) freeze(f func()) {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	from := time.Now()
	f()
	p.signal(syscall.SIGCONT)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = append(p.frozen, truth.Span{From: from, To: time.Now()})
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

func (p *process) tail(n int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines[max(len(p.lines)-n, 0):], "\n")
}

// waitLog waits for a log line that matches, also one written already.
func (p *process) waitLog(pattern string) string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	lines := make(chan string, 1000)
	p.mu.Lock()
	for _, line := range p.lines {
		if re.MatchString(line) {
			p.mu.Unlock()
			return line
		}
	}
	p.waits = append(p.waits, lines)
	p.mu.Unlock()
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for {
		select {
		case line := <-lines:
			if re.MatchString(line) {
				return line
			}
		case <-p.exited:
			p.t.Fatalf("%s exited before it logged %q:\n%s", p.id, pattern, p.tail(30))
		case <-giveUp.C:
			p.t.Fatalf("%s has not logged %q:\n%s", p.id, pattern, p.tail(30))
		}
	}
}

// exitCode waits for the process to end.
func (p *process) exitCode() int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("%s has not ended:\n%s", p.id, p.tail(30))
	}
	return p.cmd.ProcessState.ExitCode()
}

// patience bounds waits that end by themselves when the code is right; it is
// no measure of anything.
const patience = 60 * time.Second

// eventually polls until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.NewTimer(patience)
	defer giveUp.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-giveUp.C:
			t.Fatalf("still waiting: %s", what)
		}
	}
}

// full reports whether campaigns run at full length (make full) or as a sample.
func full() bool { return os.Getenv("QUORATE_CAMPAIGN") == "full" }

// lasting returns the length of a campaign.
func lasting(sample, whole time.Duration) time.Duration {
	if full() {
		return whole
	}
	return sample
}

// A line is a line of the campaign's job: tick, token, replica, its name if there are
// several jobs, and "began" if it has not done all its work.
type line struct {
	tick    string
	token   uint64
	replica string
	job     string
	stage   string
}

// readLines returns the job's lines so far.
func readLines(t *testing.T, path string) []line {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var lines []line
	for text := range strings.Lines(string(b)) {
		var l line
		if n, err := fmt.Sscan(text, &l.tick, &l.token, &l.replica, &l.job, &l.stage); n < 3 {
			t.Fatalf("line %q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// checkOnce fails the test unless every tick has at most one line, and tokens
// grow from tick to tick.
func checkOnce(t *testing.T, lines []line) map[string]line {
	t.Helper()
	byTick := map[string]line{}
	for _, l := range lines {
		if other, twice := byTick[l.tick]; twice {
			t.Errorf("tick %s ran twice: %v and %v", l.tick, other, l)
		}
		byTick[l.tick] = l
	}
	for i := 1; i < len(lines); i++ {
		if lines[i].tick > lines[i-1].tick && lines[i].token <= lines[i-1].token {
			t.Errorf("the token did not grow from %v to %v", lines[i-1], lines[i])
		}
	}
	return byTick
}

// winners counts lines per replica.
func winners(lines []line) map[string]int {
	n := map[string]int{}
	for _, l := range lines {
		n[l.replica]++
	}
	return n
}

// everySecond returns the ticks of `@every 1s` from the first to the last.
func everySecond(t *testing.T, first, last string) []string {
	t.Helper()
	from, err := time.Parse(time.RFC3339Nano, first)
	if err != nil {
		t.Fatal(err)
	}
	to, err := time.Parse(time.RFC3339Nano, last)
	if err != nil {
		t.Fatal(err)
	}
	var ticks []string
	for tick := from; !tick.After(to); tick = tick.Add(time.Second) {
		ticks = append(ticks, *listing.Stamp(tick))
	}
	return ticks
}

// outcomes counts ticks per outcome and reason without details.
func outcomes[K comparable](rows map[K]listing.Tick) map[string]int {
	n := map[string]int{}
	for _, r := range rows {
		what := string(r.Outcome)
		if r.Reason != nil {
			reason, _, _ := strings.Cut(*r.Reason, ":")
			what += " (" + reason + ")"
		}
		n[what]++
	}
	return n
}
