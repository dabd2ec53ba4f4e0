package replica

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/ledger"
)

const outageJobs = `
jobs:
  none: {func: note, schedule: "0 * * * *"}
  last: {func: note, schedule: "0 * * * *", catch_up: {mode: last, window: 12h}}
  all: {func: note, schedule: "0 * * * *", catch_up: {mode: all, window: 12h}}
  three: {func: note, schedule: "0 * * * *", catch_up: {mode: all, window: 12h, max: 3}}
  recent: {func: note, schedule: "0 * * * *", catch_up: {mode: all, window: 150m}}
`

// TestSixHoursDown stops all replicas while six ticks come, an hour apart, in
// virtual time, from the configuration to the nodes. Each job does exactly what
// its catch_up says, and the ledger explains each tick.
func TestSixHoursDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		defer minis.Close()
		var noted notes
		cfg, err := config.Read(config.Source{
			Path:    write(t, fmt.Sprintf("redis: {nodes: [%s]}\n%s", strings.Join(minis.URLs(), ", "), outageJobs)),
			Environ: []string{},
		}, noted.registry())
		if err != nil {
			t.Fatal(err)
		}
		cluster := nodesOf(t, cfg)
		cluster.Dial, cluster.Embedded = minis.Dial, true
		declare(t, cluster)

		midnight := time.Now().UTC()
		time.Sleep(55 * time.Minute)
		first := startAll(t, cfg, &noted, minis)
		time.Sleep(10 * time.Minute)
		first()
		time.Sleep(6*time.Hour + 45*time.Minute)
		second := startAll(t, cfg, &noted, minis)
		time.Sleep(15 * time.Minute)
		second()

		missed := "missed: no replica was known to serve the job"
		live, caught := "succeeded, schedule", "succeeded, catch_up"
		later := "missed: catch_up: last: a later tick came first (no replica was known to serve the job)"
		over := "missed: catch_up: more than max=3 (no replica was known to serve the job)"
		old := "missed: catch_up: window=2h30m0s has passed (no replica was known to serve the job)"
		for job, down := range map[string][]string{
			"none":   {missed, missed, missed, missed, missed, missed},
			"last":   {later, later, later, later, later, caught},
			"all":    {caught, caught, caught, caught, caught, caught},
			"three":  {over, over, over, caught, caught, caught},
			"recent": {old, old, old, old, caught, caught}, // it is ten to eight
		} {
			want := slices.Concat([]string{live}, down, []string{live})
			got := explain(t, cluster, job, midnight)
			if !slices.Equal(got, want) {
				t.Errorf("%s: the ledger has\n%s\nwant\n%s", job, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if ran := noted.of(job); !slices.IsSortedFunc(ran, time.Time.Compare) {
				t.Errorf("%s: its ticks ran in the order %v", job, ran)
			}
		}
	})
}

// startAll starts two replicas, and returns what stops them.
func startAll(t *testing.T, cfg *config.Config, noted *notes, minis *redistest.Minis) (stop func()) {
	t.Helper()
	var stops []func() error
	for _, id := range []string{"a", "b"} {
		r, err := newReplica(cfg, noted.registry(), Config{Replica: settings.Replica{ID: id}, Logger: logTo(t.Output()), Dial: minis.Dial, Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		stops = append(stops, start(t.Context(), r))
	}
	return func() {
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	}
}

// notes keeps which ticks ran, in order.
type notes struct {
	mu   sync.Mutex
	runs []jobs.Run
}

func (n *notes) registry() *jobs.Registry {
	registry := jobs.NewRegistry()
	jobs.Register(registry, "note", func(_ context.Context, run jobs.Run, _ jobs.NoParams) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.runs = append(n.runs, run)
		return nil
	})
	return registry
}

// of returns the ticks of a job.
func (n *notes) of(job string) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	var ticks []time.Time
	for _, run := range n.runs {
		if run.Job == job {
			ticks = append(ticks, run.Tick)
		}
	}
	return ticks
}

// explain reads what the ledger has of a job's ticks, oldest first. They must
// be on the hour, one after the other.
func explain(t *testing.T, cluster membership.Config, job string, midnight time.Time) []string {
	t.Helper()
	set, err := membership.Open(cluster)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	entries, err := quorumledger.New(set).Ticks(t.Context(), ledger.Query{Job: job, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	var lines []string
	for i, e := range entries {
		if want := midnight.Add(time.Duration(i+1) * time.Hour); !e.Tick.Equal(want) {
			t.Errorf("%s: tick %d is that of %v, want %v", job, i, e.Tick, want)
		}
		line := string(e.Outcome) + ": " + e.Reason.String()
		if e.Ran() {
			line = string(e.Outcome) + ", " + string(e.Trigger)
		}
		lines = append(lines, line)
	}
	return lines
}
