package schedtest

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/singletest"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// minutely is a setup of one job that takes a while, and the calls of it.
func minutely(t *testing.T, takes time.Duration) (Setup, *Calls[jobs.NoParams]) {
	t.Helper()
	schedule, err := schedule.Parse("@every 1m", schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls := &Calls[jobs.NoParams]{Do: func(ctx context.Context, _ jobs.Run, _ jobs.NoParams) error {
		select {
		case <-time.After(takes):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
	handler := func(ctx context.Context, run jobs.Run) error { return calls.Func(ctx, run, jobs.NoParams{}) }
	return Setup{Jobs: []jobs.Job{{Name: "minutely", Schedule: schedule, Handler: handler}}, Stores: stores(t)}, calls
}

// Clusters run on the stores of Run, or on those of one consistent store:
//
//	go test ./scheduler/schedtest -args -store=single
var backing = flag.String("store", "memory", "the stores of the clusters: memory, onestore")

func stores(t *testing.T) func(*testing.T) scheduler.Stores {
	t.Helper()
	switch *backing {
	case "memory":
		return nil
	case "onestore":
		return func(t *testing.T) scheduler.Stores { return store.ForScheduler(singletest.New(t)) }
	}
	t.Fatalf("-store is %q: use memory or onestore", *backing)
	return nil
}

func TestForward(t *testing.T) {
	t.Parallel()
	setup, calls := minutely(t, time.Second)
	setup.Start = time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Forward(0)
		if got := c.Now(); !got.Equal(setup.Start) {
			t.Errorf("it is %v, want %v", got, setup.Start)
		}
		c.ForwardTo(setup.Start.Add(2 * time.Minute))
		c.Expect("minutely", "2026-03-01T12:01:00Z succeeded", "2026-03-01T12:02:00Z succeeded")
		c.ForwardTo(setup.Start.Add(150 * time.Second))
		c.Forward(30 * time.Millisecond) // a stagger
		if last := c.Ticks("minutely")[2]; last.Outcome != ledger.Running {
			t.Errorf("the tick that has just begun %s", last.Outcome)
		}
	})
	all := calls.All()
	if len(all) != 3 {
		t.Fatalf("%d calls, want 3, the last ended by the end of the cluster", len(all))
	}
	for i, call := range all {
		if i > 0 && call.Run.Token <= all[i-1].Run.Token {
			t.Errorf("token %d after %d", call.Run.Token, all[i-1].Run.Token)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	setup, calls := minutely(t, time.Second)
	setup.Instead = func(context.Context, jobs.Run) error { return nil }
	Run(t, setup, func(_ *testing.T, c *Cluster) {
		c.Forward(90 * time.Second)
		c.Replace("minutely", func(context.Context, jobs.Run) error { return errors.New("no") })
		c.Forward(time.Minute)
		c.Replace("minutely", nil)
		c.Forward(time.Minute)
		c.Expect("minutely", "2000-01-01T00:01:00Z succeeded", "2000-01-01T00:02:00Z failed", "2000-01-01T00:03:00Z succeeded")
	})
	if n := len(calls.All()); n > 0 {
		t.Errorf("the job's own function was called %d times", n)
	}
}

// The stores of Run keep what a run logs, whatever the job's history says.
func TestLog(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 0)
	setup.Stores = nil
	setup.Jobs[0].History = jobs.History{Keep: 1}
	setup.Instead = func(_ context.Context, run jobs.Run) error {
		run.Logger.Info("three invoices sent")
		return nil
	}
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Forward(5*time.Minute + time.Second)
		runs := c.Runs("minutely")
		if len(runs) != 5 {
			t.Fatalf("%d runs", len(runs))
		}
		for _, run := range runs {
			if text := c.Log(run); !strings.Contains(text, "three invoices sent") {
				t.Errorf("%s has the log %q", run.ID(), text)
			}
		}
	})
}

// A roll-out of a configuration: one replica first, then all. Ticks that only
// one version has are run by replicas of that version.
func TestUpdate(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 0)
	more := slices.Clone(setup.Jobs)
	more = append(more, more[0])
	more[1].Name = "another"
	Run(t, setup, func(t *testing.T, c *Cluster) {
		first := c.Replicas()[0]
		first.Update(more)
		c.Forward(90 * time.Second)
		if run := c.Runs("another")[0]; run.Replica != first.Name() {
			t.Errorf("the new job ran on %s", run.Replica)
		}
		c.Update(more)
		first.Kill()
		c.Forward(time.Minute)
		c.Expect("another", "2000-01-01T00:01:00Z succeeded", "2000-01-01T00:02:00Z succeeded")
		c.Update(more[:1])
		first.Start()
		c.Forward(time.Minute)
		c.Expect("another", "2000-01-01T00:01:00Z succeeded", "2000-01-01T00:02:00Z succeeded")
		c.Expect("minutely", "2000-01-01T00:01:00Z succeeded", "2000-01-01T00:02:00Z succeeded", "2000-01-01T00:03:00Z succeeded")
	})
}

func TestLabels(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 0)
	setup.Labels = []map[string]string{{"zone": "a"}, {"zone": "b"}}
	setup.Jobs[0].Labels = map[string]string{"zone": "b"}
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Forward(5*time.Minute + time.Second)
		runs := c.Runs()
		if len(runs) != 5 {
			t.Errorf("%d runs, want 5", len(runs))
		}
		for _, run := range runs {
			if run.Replica != "replica-2" {
				t.Errorf("%s ran on %s", run.ID(), run.Replica)
			}
		}
	})
}

// What people ask for while the schedule goes on.
func TestAsked(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 0)
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Forward(10 * time.Second)
		c.Pause("minutely", "the database is moved")
		c.Forward(20 * time.Second)
		c.Trigger("minutely")
		c.Forward(time.Minute)
		c.Resume("minutely")
		c.Forward(time.Minute)
		runs := c.Runs("minutely")
		if len(runs) != 2 || runs[0].Trigger != ledger.ByManual || runs[1].Trigger != ledger.BySchedule {
			t.Errorf("the runs are %+v", runs)
		}
		for _, e := range c.Ticks("minutely") {
			if e.Tick.Minute() == 1 && !strings.Contains(e.Reason.String(), "the database is moved") {
				t.Errorf("the tick of the pause is %s", line(e))
			}
		}
		if audit := c.Audit(); len(audit) != 3 || audit[1].Kind != commands.Trigger || audit[1].Result == "" {
			t.Errorf("the audit log is %+v", audit)
		}
	})
}

// What a killed replica was at has no end, and its function is told.
func TestKill(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 0)
	var cause error
	setup.Instead = func(ctx context.Context, _ jobs.Run) error {
		select {
		case <-ctx.Done():
			cause = context.Cause(ctx)
		case <-time.After(30 * time.Second):
		}
		return nil // as if it had succeeded
	}
	Run(t, setup, func(t *testing.T, c *Cluster) {
		run := c.Await("minutely", time.Hour)
		died := c.Replica(run.Replica)
		died.Kill()
		if !errors.Is(cause, ErrKilled) {
			t.Errorf("the function was told %v", cause)
		}
		if n := len(c.Replicas()); n != 2 {
			t.Errorf("%d replicas run, want 2", n)
		}
		c.Forward(100 * time.Second)
		died.Start()
		c.Expect("minutely", "2000-01-01T00:01:00Z interrupted", "2000-01-01T00:02:00Z succeeded")
	})
}

// What a replica was telling nodes that did not answer is not heard when they
// come back, if it was killed meanwhile.
func TestKillUnheard(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, time.Second)
	setup.Replicas = 1
	Run(t, setup, func(_ *testing.T, c *Cluster) {
		c.Await("minutely", time.Hour)
		c.StopNodes()
		c.Forward(2 * time.Second) // the run has ended, and is released
		c.Replicas()[0].Kill()
		c.StartNodes()
		c.Forward(time.Minute)
		c.Expect("minutely", "2000-01-01T00:01:00Z interrupted")
	})
}

// A test may end right after a Kill, whatever the replica was at: here it has a
// missed tick to record.
func TestKillAtTheEnd(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, time.Second)
	setup.Replicas = 1
	Run(t, setup, func(_ *testing.T, c *Cluster) {
		c.StopNodes()
		c.Forward(61 * time.Second)
		c.Replicas()[0].Kill()
	})
}

func TestStop(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 10*time.Second)
	setup.Replicas = 1
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Await("minutely", time.Hour)
		c.Replicas()[0].Stop()
		c.Expect("minutely", "2000-01-01T00:01:00Z succeeded")
		if c.Now().Second() != 10 {
			t.Errorf("the drain ended at %v", c.Now())
		}
		c.Forward(time.Hour)
		c.Add()
		c.Forward(time.Minute)
		if n := len(c.Runs()); n != 2 {
			t.Errorf("%d runs, want one before and one after the hour", n)
		}
	})
}

// A frozen replica does nothing, and its function is told nothing, until it is
// thawed.
func TestFreeze(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 0)
	setup.Replicas = 1
	var told time.Time
	var cause error
	setup.Instead = func(ctx context.Context, _ jobs.Run) error {
		<-ctx.Done()
		told, cause = time.Now(), context.Cause(ctx)
		return cause
	}
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Await("minutely", time.Hour)
		r := c.Replicas()[0]
		r.Freeze()
		c.Forward(10*time.Minute + 30*time.Second)
		c.Expect("minutely", "2000-01-01T00:01:00Z interrupted")
		if !told.IsZero() {
			t.Errorf("the function was told at %v", told)
		}
		r.Thaw()
		if !told.Equal(c.Now()) || !errors.Is(cause, locking.ErrLeaseLost) {
			t.Errorf("thawed at %v, the function was told at %v: %v", c.Now(), told, cause)
		}
	})
}

func TestOutage(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, time.Second)
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Forward(90 * time.Second)
		c.Outage(time.Hour)
		c.Forward(time.Minute)
		first, last := c.Runs()[0], c.Runs("minutely")[1]
		if gap := last.Tick.Sub(first.Tick); gap != 61*time.Minute {
			t.Errorf("runs are %v apart", gap)
		}
	})
}

func TestNodesStop(t *testing.T) {
	t.Parallel()
	setup, calls := minutely(t, 40*time.Second)
	Run(t, setup, func(_ *testing.T, c *Cluster) {
		c.Await("minutely", time.Hour)
		c.StopNodes()
		c.Forward(10 * time.Minute)
		c.StartNodes()
		c.Forward(time.Second)
		c.Expect("minutely",
			"2000-01-01T00:01:00Z interrupted",
			"2000-01-01T00:02:00Z missed: no quorum",
			"2000-01-01T00:03:00Z missed: no quorum",
			"2000-01-01T00:04:00Z missed: no quorum",
			"2000-01-01T00:05:00Z missed: no quorum",
			"2000-01-01T00:06:00Z missed: no quorum",
			"2000-01-01T00:07:00Z missed: no quorum",
			"2000-01-01T00:08:00Z missed: no quorum",
			"2000-01-01T00:09:00Z missed: no quorum",
			"2000-01-01T00:10:00Z missed: no quorum",
			"2000-01-01T00:11:00Z running")
	})
	if n := len(calls.All()); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestLoseLease(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 40*time.Second)
	Run(t, setup, func(_ *testing.T, c *Cluster) {
		c.Await("minutely", time.Hour)
		c.LoseLease("minutely")
		c.Forward(70 * time.Second)
		c.Expect("minutely", "2000-01-01T00:01:00Z lease_lost", "2000-01-01T00:02:00Z running")
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	ticks := []ledger.Entry{
		{Tick: at, Outcome: ledger.Succeeded},
		{Tick: at.Add(time.Minute), Outcome: ledger.Missed, Reason: ledger.TextReason("no quorum: 1 of 3")},
	}
	for name, tt := range map[string]struct {
		lines []string
		shows []string // nothing: they are the same
	}{
		"same":            {lines: []string{"2026-01-02T03:04:00Z succeeded", "2026-01-02T03:05:00Z missed: no quorum: 1 of 3"}},
		"reason cut":      {lines: []string{"2026-01-02T03:04:00Z succeeded", "2026-01-02T03:05:00Z missed: no quorum"}},
		"reason left out": {lines: []string{"2026-01-02T03:04:00Z succeeded", "2026-01-02T03:05:00Z missed"}},
		"another reason": {
			[]string{"2026-01-02T03:04:00Z succeeded", "2026-01-02T03:05:00Z missed: asleep"},
			[]string{"want 2026-01-02T03:05:00Z missed: asleep", "got 2026-01-02T03:05:00Z missed: no quorum"},
		},
		"another outcome": {
			[]string{"2026-01-02T03:04:00Z failed", "2026-01-02T03:05:00Z missed"},
			[]string{"got 2026-01-02T03:04:00Z succeeded", "want 2026-01-02T03:04:00Z failed"},
		},
		"half an outcome": {[]string{"2026-01-02T03:04:00Z succ", "2026-01-02T03:05:00Z missed"}, []string{"want 2026-01-02T03:04:00Z succ\n"}},
		"a tick too many": {[]string{"2026-01-02T03:04:00Z succeeded"}, []string{"want nothing"}},
		"a tick missing": {
			[]string{"2026-01-02T03:04:00Z succeeded", "2026-01-02T03:05:00Z missed", "2026-01-02T03:06:00Z succeeded"},
			[]string{"got nothing"},
		},
	} {
		diff := compare(ticks, tt.lines)
		if (diff == "") != (len(tt.shows) == 0) {
			t.Errorf("%s: the difference is %q", name, diff)
		}
		for _, text := range tt.shows {
			if !strings.Contains(diff, text) {
				t.Errorf("%s: no %q in\n%s", name, text, diff)
			}
		}
	}
}

// A run is told what became of the job before it: the last success, and how the last run
// ended, by whichever replica. While too few nodes answer it gets an error.
func TestPrevious(t *testing.T) {
	t.Parallel()
	setup, _ := minutely(t, 0)
	var told []jobs.Previous
	var silent error
	setup.Start = time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)
	Run(t, setup, func(t *testing.T, c *Cluster) {
		c.Replace("minutely", func(ctx context.Context, run jobs.Run) error {
			before, err := run.Previous(ctx)
			if err != nil {
				t.Error(err)
			}
			told = append(told, before)
			switch len(told) {
			case 2:
				return errors.New("boom")
			case 4:
				c.StopNodes()
				_, silent = run.Previous(ctx)
				c.StartNodes()
			}
			return nil
		})
		c.Forward(4 * time.Minute)
	})
	first, third := time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC), time.Date(2026, 3, 1, 12, 3, 0, 0, time.UTC)
	want := []struct {
		success time.Time
		outcome string
	}{{time.Time{}, ""}, {first, "succeeded"}, {first, "failed"}, {third, "succeeded"}}
	if len(told) != len(want) {
		t.Fatalf("%d runs were told %+v", len(told), told)
	}
	for i, w := range want {
		if got := told[i]; !got.Success.Equal(w.success) || got.Outcome != w.outcome || got.Ended.IsZero() != w.success.IsZero() {
			t.Errorf("run %d was told %+v, want %+v", i+1, got, w)
		}
	}
	if !errors.Is(silent, locking.ErrNoQuorum) {
		t.Errorf("without nodes: %v", silent)
	}
	if _, err := (jobs.Run{}).Previous(t.Context()); !errors.Is(err, jobs.ErrNoLedger) {
		t.Errorf("outside of a run: %v", err)
	}
}
