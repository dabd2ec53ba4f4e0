package etcd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/cmd/quorate-etcd/internal/etcdtest"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/replica"
)

// sinkVariable names the file of a replica's runs: with it, the test binary is a replica.
const sinkVariable = "QUORATE_ETCD_SINK"

func TestMain(m *testing.M) {
	sink := os.Getenv(sinkVariable)
	if sink == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	app := cmd.App{Registry: registry(sink), Stores: []replica.Store{new(Store)}, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	code := app.Exec(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// A work is a line of the sink.
type work struct {
	Tick  time.Time
	Token uint64
}

func registry(sink string) *jobs.Registry {
	r := jobs.NewRegistry()
	jobs.Register(r, "work", func(_ context.Context, run jobs.Run, _ struct{}) error {
		f, err := os.OpenFile(filepath.Clean(sink), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		text, err := json.Marshal(work{run.Tick, uint64(run.Token)})
		if err == nil {
			_, err = f.Write(append(text, '\n')) // one write, so lines do not mix
		}
		if closed := f.Close(); err == nil {
			err = closed
		}
		return err
	})
	return r
}

// A campaign is three replicas on three members, with a job of each second.
type campaign struct {
	*testing.T
	*etcdtest.Cluster
	config, sink string
	replicas     [3]*exec.Cmd
}

// TestCampaign kills and freezes members and replicas in turn. No tick runs twice, tokens
// grow, and the ledger tells the truth.
func TestCampaign(t *testing.T) {
	t.Parallel()
	rounds := 1
	if full() {
		rounds = 8
	}
	c := &campaign{T: t, Cluster: etcdtest.Start(t, 3), config: filepath.Join(t.TempDir(), "c.yaml"), sink: filepath.Join(t.TempDir(), "sink")}
	text := fmt.Sprintf("etcd: {endpoints: [%s], timeout: 500ms}\nlock: {ttl: 5s, extend_every: 1s}\ndefaults: {history: {keep: 1000}}\njobs: {work: {func: work, schedule: '@every 1s'}}\n", strings.Join(c.URLs(), ", "))
	if err := os.WriteFile(c.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("store", "init")
	for i := range c.replicas {
		c.start(i)
	}
	began := time.Now()
	pause := func() { time.Sleep(3 * time.Second) }
	for round := range rounds {
		m, r := c.Members[round%3], round%3
		pause()
		m.Kill(t)
		pause()
		m.Start(t)
		pause()
		m = c.Members[(round+1)%3]
		m.Freeze(t)
		pause()
		m.Thaw(t)
		c.signal(r, syscall.SIGKILL)
		_ = c.replicas[r].Wait()
		c.start(r)
		pause()
		c.signal((r+1)%3, syscall.SIGSTOP)
		time.Sleep(7 * time.Second) // longer than a lease
		c.signal((r+1)%3, syscall.SIGCONT)
	}
	pause()
	ended := time.Now()
	time.Sleep(20 * time.Second) // what was missed is recorded
	c.check(began.Add(time.Second), ended)
}

func (c *campaign) start(i int) {
	c.Helper()
	p := exec.Command(os.Args[0], "run", "-c", c.config) //nolint:gosec // this test binary, ended below
	p.Env, p.Stderr = append(os.Environ(), sinkVariable+"="+c.sink), nil
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		c.Fatal(err)
	}
	c.replicas[i] = p
	c.Cleanup(func() {
		_ = p.Process.Kill() // it may have ended
		_ = p.Wait()
	})
}

func (c *campaign) signal(i int, s syscall.Signal) {
	c.Helper()
	if err := c.replicas[i].Process.Signal(s); err != nil {
		c.Fatal(err)
	}
}

// must runs a command in this process.
func (c *campaign) must(args ...string) string {
	c.Helper()
	var out, errs bytes.Buffer
	app := cmd.App{Registry: registry(c.sink), Stores: []replica.Store{new(Store)}, In: strings.NewReader(""), Out: &out, Err: &errs}
	if code := app.Exec(c.Context(), append(args, "-c", c.config)); code != 0 {
		c.Fatalf("%v: exit code %d: %s", args, code, errs.String())
	}
	return out.String()
}

// done reads the sink.
func (c *campaign) done() (list []work) {
	c.Helper()
	f, err := os.Open(c.sink)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var w work
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			c.Fatal(err)
		}
		list = append(list, w)
	}
	return list
}

// check compares the sink with the ledger, from one time to another.
func (c *campaign) check(from, to time.Time) {
	c.Helper()
	list := c.done()
	slices.SortFunc(list, func(a, b work) int { return a.Tick.Compare(b.Tick) })
	ran := map[string]bool{}
	for i, w := range list {
		ran[w.Tick.UTC().Format(time.RFC3339)] = true
		if i > 0 && !list[i-1].Tick.Before(w.Tick) {
			c.Errorf("the tick %v ran twice", w.Tick)
		}
		if i > 0 && list[i-1].Token >= w.Token {
			c.Errorf("the tick %v has token %d after %d", w.Tick, w.Token, list[i-1].Token)
		}
	}
	var rows []listing.Tick
	if err := json.Unmarshal([]byte(c.must("ticks", "work", "--limit", "1000", "-o", "json")), &rows); err != nil {
		c.Fatal(err)
	}
	outcomes, told := map[string]int{}, map[string]string{}
	for _, row := range rows {
		told[listing.Text(&row.Tick)] = string(row.Outcome)
	}
	for at := from.Truncate(time.Second).Add(time.Second); at.Before(to); at = at.Add(time.Second) {
		tick := at.UTC().Format(time.RFC3339)
		outcome := told[tick]
		outcomes[outcome]++
		switch {
		case outcome == "":
			c.Errorf("the tick %s has no row", tick)
		case ran[tick] && (outcome == "missed" || outcome == "skipped"):
			c.Errorf("the tick %s ran, and the ledger says %s", tick, outcome)
		case !ran[tick] && outcome == "succeeded":
			c.Errorf("the tick %s did not run, and the ledger says that it has succeeded", tick)
		}
	}
	c.Logf("%d runs in %v: %v", len(list), to.Sub(from).Round(time.Second), outcomes)
	if len(list) < int(to.Sub(from)/time.Second)/3 {
		c.Error("these are too few runs to show anything")
	}
}
