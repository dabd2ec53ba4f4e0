package campaigntest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/readmodel"
	"github.com/quorate/quorate/internal/config/connect"
)

// Times in the configuration.
const (
	TTL     = 3 * time.Second
	Grace   = 4 * time.Second
	Timeout = 350 * time.Millisecond
	window  = 10 * time.Second // the default
)

// Outsider is the replica that may have a configuration of its own.
const Outsider = "c"

// IDs returns the names of the replicas.
func IDs() []string { return []string{"a", "b", Outsider} }

// A Campaign is three replicas that use one store, and what is known of its faults.
type Campaign struct {
	*testing.T
	Rand   *rand.Rand
	Config string // the path of the configuration
	Sink   string // the file that jobs write to
	// Store is that of the configuration if it is neither Redis nor PostgreSQL.
	Store connect.Server
	// Replicas are the last process of each.
	Replicas map[string]*Replica
	// Facts are what is true of the store: whether it forgets, and when it hung.
	Facts checker.Record
	// Apart are spans in which two servers took themselves for the only one. Nothing is
	// promised of them.
	Apart []checker.Span

	from         time.Time
	outsiders    string // the path of its configuration
	incarnations []*Replica
	faults       map[string]int
	session      readmodel.Session
}

var seed = flag.Uint64("campaign", 0, "the seed of the campaigns; 0: a new one")

// New returns a campaign without a store.
func New(t *testing.T) *Campaign {
	t.Helper()
	n := cmp.Or(*seed, rand.Uint64())
	t.Logf("again: -run %s -args -campaign=%d", t.Name(), n)
	dir := t.TempDir()
	return &Campaign{
		T: t, Rand: rand.New(rand.NewPCG(n, 0)), Replicas: map[string]*Replica{}, faults: map[string]int{},
		Config: filepath.Join(dir, "config.yaml"), Sink: filepath.Join(dir, "lines"),
		Facts: checker.Record{TTL: TTL, Window: window},
	}
}

// A Job is one of a campaign.
type Job struct {
	Name    string
	Every   time.Duration
	options string
	sleep   string // how long a run takes
}

// repeated is the job that runs again after a crash.
const repeated = "again"

// Jobs returns the jobs that each campaign has, one for each policy.
func Jobs() []Job {
	return []Job{
		{"quick", time.Second, "", "0"},
		{"slow", time.Second, "", "1.3"},
		{"queues", 2 * time.Second, "overlap: queue, ", "0.7"},
		{"caught", 2 * time.Second, "catch_up: {mode: all}, ", "0.1"},
		{repeated, 2 * time.Second, "on_crash: rerun, ", "0.5"},
		{"beside", time.Second, "overlap: allow, ", "1.5"},
	}
}

// Commands is the configuration of these jobs: they write to the sink.
func (c *Campaign) Commands() string {
	var text strings.Builder
	for _, j := range Jobs() {
		fmt.Fprintf(&text, "  %s: {func: exec, schedule: '@every %s', %sparams: {command: [sh, -c, 'sleep %s; echo \"$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB\" >> %s']}}\n",
			j.Name, j.Every, j.options, j.sleep, c.Sink)
	}
	return text.String()
}

// Configure writes the configuration, with the section of a store.
func (c *Campaign) Configure(store, jobs string) {
	c.Helper()
	c.write(c.Config, store, jobs)
}

// ConfigureOutsider writes that of the outsider.
func (c *Campaign) ConfigureOutsider(store, jobs string) {
	c.Helper()
	c.outsiders = c.Config + ".outsider.yaml"
	c.write(c.outsiders, store, jobs)
}

func (c *Campaign) write(path, store, jobs string) {
	c.Helper()
	text := fmt.Sprintf("namespace: campaign\n%s\nlock: {ttl: %s, safety_margin: 1200ms}\nlog: {format: json}\njobs:\n%s", store, TTL, jobs)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}

// Begin declares the store new, and starts the replicas. The campaign begins when all work.
func (c *Campaign) Begin() {
	c.Helper()
	c.Eventually("store init", func() bool {
		_, stderr, code := c.Command("store", "init", "-c", c.Config)
		if code != 0 { // servers answer late on a busy machine
			c.Logf("store init: %s", stderr)
		}
		return code == 0
	})
	c.Start(IDs()...)
	c.Ready()
	text, err := os.ReadFile(c.Config)
	if err != nil {
		c.Fatal(err)
	}
	c.Eventually("the jobs are published", func() bool {
		return strings.Count(c.Must("jobs", "-o", "json"), `"schedule"`) >= bytes.Count(text, []byte("{func: "))
	})
	// Ticks are accounted for once a replica has told since when: usually at once, and at its end.
	first := IDs()[0]
	c.Replicas[first].Drain()
	c.Start(first)
	c.Ready()
	c.from = time.Now().Add(time.Second)
}

// Start starts replicas.
func (c *Campaign) Start(ids ...string) {
	c.Helper()
	for _, id := range ids {
		config := c.Config
		if id == Outsider {
			config = cmp.Or(c.outsiders, config)
		}
		c.Add(Start(c.T, config, id))
	}
}

// Add adds a replica that was started otherwise.
func (c *Campaign) Add(r *Replica) {
	c.Replicas[r.ID] = r
	c.incarnations = append(c.incarnations, r)
}

// Ready waits until all replicas can run ticks.
func (c *Campaign) Ready() {
	c.Helper()
	for _, r := range c.Replicas {
		r.Ready()
	}
}

// NextWinner waits for the next tick that is won, and says by whom.
func (c *Campaign) NextWinner() (winner *Replica) {
	c.Helper()
	read := map[*Replica]int{}
	for _, r := range c.Replicas {
		read[r] = len(r.logged(0))
	}
	c.Eventually("a tick is won", func() bool {
		for r, n := range read {
			if slices.ContainsFunc(r.logged(n), func(line string) bool { return strings.Contains(line, `"tick won"`) }) {
				winner = r
			}
		}
		return winner != nil
	})
	return winner
}

// Drain ends all replicas at once as an operator would.
func (c *Campaign) Drain() {
	c.Helper()
	for _, r := range c.Replicas {
		r.Signal(syscall.SIGTERM)
	}
	for _, r := range c.Replicas {
		r.Drained()
	}
}

// Command runs a command of the program.
func (c *Campaign) Command(args ...string) (stdout, stderr string, code int) {
	c.Helper()
	var out, errs bytes.Buffer
	cmd := Program(c.Context(), os.Args[0], args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if _, ended := errors.AsType[*exec.ExitError](cmd.Run()); !ended && cmd.ProcessState == nil {
		c.Fatalf("%v was not started", args)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Must runs a command that must succeed, with the campaign's configuration. It repeats one to
// which the store did not answer: servers that have just begun may be slow.
func (c *Campaign) Must(args ...string) (stdout string) {
	c.Helper()
	c.Eventually(strings.Join(args, " "), func() bool {
		var stderr string
		var code int
		if stdout, stderr, code = c.Command(append(args, "-c", c.Config)...); code != 0 && code != NoQuorum {
			c.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		return code == 0
	})
	return stdout
}

// NoQuorum is the exit code of a command to which the store did not answer.
const NoQuorum = 4

// UpTo is a duration below the bound.
func (c *Campaign) UpTo(most time.Duration) time.Duration {
	return time.Duration(c.Rand.Int64N(int64(most)))
}

// patience bounds waits that end by themselves when the code is right.
const patience = time.Minute

// Eventually waits until f is true.
func (c *Campaign) Eventually(what string, f func() bool) {
	c.Helper()
	for until := time.Now().Add(patience); !f(); c.Wait(50 * time.Millisecond) {
		if time.Now().After(until) {
			c.Fatalf("still waiting: %s", what)
		}
	}
}

// Wait lets the processes under test work for a while.
func (c *Campaign) Wait(d time.Duration) {
	c.Helper()
	select {
	case <-time.After(d):
	case <-c.Context().Done():
	}
}

// asProgram is set where the test binary is the program.
const asProgram = "QUORATE_CAMPAIGN_PROGRAM"

// IsProgram reports whether this process is to be the program, with the race detector if the
// tests have it.
func IsProgram() bool { return os.Getenv(asProgram) != "" }

// Program is the program with arguments: the test binary, or another.
func Program(ctx context.Context, binary string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}
