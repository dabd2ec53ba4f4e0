package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// With three replicas each run of a job triggers one run of the next. That run and the
// ledger know its parent.
func TestChainRunsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		commands := c.commands
		first := every(t, "1m", "load", func(context.Context, jobs.Run) error { return nil })
		first.OnSuccess = []string{"report"}
		second := every(t, "1000h", "report", c.handler(nil))
		var stops []func() error
		for _, id := range []string{"a", "b", "c"} {
			stops = append(stops, c.start(c.replica(id, func(cfg *scheduler.Config) { cfg.Commands = commands }, first, second)))
		}
		time.Sleep(3*time.Minute + 30*time.Second)
		for _, stop := range stops {
			c.stop(stop)
		}
		if len(c.runs) != 3 {
			t.Fatalf("three runs of load triggered %d of report: %+v", len(c.runs), c.runs)
		}
		loads, reports := c.ticks("load"), c.ticks("report")
		for i, run := range c.runs {
			if want := loads[i].ID(); run.Parent != want || run.Trigger != string(ledger.ByChain) || reports[i].Parent != want {
				t.Errorf("run %d has parent %q, trigger %s, and parent %q in the ledger; want %q", i, run.Parent, run.Trigger, reports[i].Parent, want)
			}
		}
	})
}
