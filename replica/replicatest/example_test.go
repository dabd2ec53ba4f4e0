package replicatest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/replicatest"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// These tests are meant to be copied: they test the jobs of testdata/config.yaml
// in virtual time, without Redis.

// ReportParams stands for the params of your own function.
type ReportParams struct {
	Customer string `json:"customer"`
}

// functions stands for what your program registers. The report notes its calls.
func functions(reports *schedtest.Calls[ReportParams]) *jobs.Registry {
	registry := jobs.NewRegistry()
	jobs.Register(registry, "report", reports.Func)
	jobs.Register(registry, "sync", func(ctx context.Context, _ jobs.Run, _ jobs.NoParams) error {
		select {
		case <-time.After(2 * time.Minute): // virtual, as all time here
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return registry
}

// Three days around the change of the clocks: the report runs at two o'clock in
// Paris, and where there is none, at three.
func TestThreeDays(t *testing.T) {
	t.Parallel()
	var reports schedtest.Calls[ReportParams]
	setup := replicatest.Load(t, "testdata/config.yaml", functions(&reports))
	setup.Start = time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		c.Forward(72 * time.Hour)
		c.Expect("nightly-report",
			"2026-03-28T01:00:00Z succeeded",
			"2026-03-29T01:00:00Z succeeded",
			"2026-03-30T00:00:00Z succeeded")
		if n := len(c.Runs("sync")); n != 3*24*6 {
			t.Errorf("sync ran %d times", n)
		}
	})
	for _, call := range reports.All() {
		if call.Params.Customer != "all" {
			t.Errorf("report ran for %q", call.Params.Customer)
		}
	}
}

// A report that fails is in the ledger with its error, and nobody runs it twice.
func TestFailure(t *testing.T) {
	t.Parallel()
	setup := replicatest.Load(t, "testdata/config.yaml", functions(new(schedtest.Calls[ReportParams])))
	schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		c.Replace("nightly-report", func(context.Context, jobs.Run) error { return errors.New("disk full") })
		c.Forward(24 * time.Hour)
		c.Expect("nightly-report", "2000-01-01T01:00:00Z failed")
		if text := c.Ticks("nightly-report")[0].Error; text != "disk full" {
			t.Errorf("the ledger has %q", text)
		}
	})
}

// A replica dies during its run. Another goes on with the next tick.
func TestReplicaDies(t *testing.T) {
	t.Parallel()
	setup := replicatest.Load(t, "testdata/config.yaml", functions(new(schedtest.Calls[ReportParams])))
	schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		run := c.Await("sync", time.Hour)
		c.Replica(run.Replica).Kill()
		c.Forward(12 * time.Minute)
		c.Expect("sync",
			"2000-01-01T00:10:00Z interrupted",
			"2000-01-01T00:20:00Z succeeded")
	})
}

// A replica is paused for longer than its lease lasts, and its function goes on
// believing in it. A later run has a larger token, so a guard refuses what the
// first one still writes; and the ledger says that its lease was lost.
func TestReplicaFreezes(t *testing.T) {
	t.Parallel()
	setup := replicatest.Load(t, "testdata/config.yaml", functions(new(schedtest.Calls[ReportParams])))
	schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		first := c.Await("sync", time.Hour)
		frozen := c.Replica(first.Replica)
		frozen.Freeze()
		second := c.Await("sync", time.Hour)
		if second.Replica == first.Replica || second.Token <= first.Token {
			t.Errorf("after %s with token %d ran %s with token %d", first.Replica, first.Token, second.Replica, second.Token)
		}
		frozen.Thaw()
		c.Forward(5 * time.Minute)
		c.Expect("sync",
			"2000-01-01T00:10:00Z lease_lost",
			"2000-01-01T00:20:00Z succeeded")
	})
}

// While no quorum of nodes answers nothing runs, and the ledger says so
// afterwards.
func TestNodesDown(t *testing.T) {
	t.Parallel()
	setup := replicatest.Load(t, "testdata/config.yaml", functions(new(schedtest.Calls[ReportParams])))
	setup.Replicas = 2
	schedtest.Run(t, setup, func(_ *testing.T, c *schedtest.Cluster) {
		c.Forward(5 * time.Minute)
		c.StopNodes()
		c.Forward(10 * time.Minute)
		c.StartNodes()
		c.Forward(9 * time.Minute)
		c.Expect("sync",
			"2000-01-01T00:10:00Z missed: no quorum",
			"2000-01-01T00:20:00Z succeeded")
	})
}

// A run whose lease is taken away is told, and stops.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	setup := replicatest.Load(t, "testdata/config.yaml", functions(new(schedtest.Calls[ReportParams])))
	schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
		c.Replace("sync", func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), locking.ErrLeaseLost) {
				t.Errorf("the run was told %v", context.Cause(ctx))
			}
			return context.Cause(ctx)
		})
		c.Await("sync", time.Hour)
		c.LoseLease("sync")
		c.Forward(time.Minute)
		if run := c.Runs("sync")[0]; run.Outcome != ledger.LeaseLost {
			t.Errorf("the run %s", run.Outcome)
		}
	})
}
