package scheduler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Runs that take longer than the period, after an outage: missed ticks are caught up, and
// ticks during a run are skipped, as without an outage. So the job is on time again
// afterwards.
func TestCatchUpKeepsUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		replicas      int
		period, takes time.Duration
		mode          jobs.CatchUpMode
	}{
		{"alone", 1, time.Minute, 95 * time.Second, jobs.CatchUpAll},
		{"three replicas", 3, time.Minute, 95 * time.Second, jobs.CatchUpAll},
		{"a short period", 3, 4 * time.Second, 6 * time.Second, jobs.CatchUpAll},
		{"the last one", 3, time.Minute, 95 * time.Second, jobs.CatchUpLast},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				down := c.begun.Add(3*tt.period - time.Second)
				up := down.Add(10 * tt.period)
				c.locker = outage{c.locks, down, up}
				job := every(t, tt.period.String(), "j", c.handler(untilEndOr(tt.takes)))
				job.CatchUp = jobs.CatchUp{Mode: tt.mode, Window: 24 * time.Hour}
				stop := c.startAll(tt.replicas, nil, job)
				time.Sleep(100*tt.period - time.Second)
				open := len(c.ticks("j"))
				stop()
				settled := up.Add(30 * tt.takes)
				ran, skipped := 0, 0
				for _, e := range c.ticks("j")[:open-1] { // the last one may still have been open
					within := !e.Tick.Before(down.Add(tt.takes)) && e.Tick.Before(up.Add(-6*time.Second))
					lastOnly := tt.mode == jobs.CatchUpLast && !e.Tick.Before(down) && !e.Tick.After(up)
					switch {
					case e.Outcome == ledger.Missed && !lastOnly:
						t.Errorf("tick %v: %s", c.at(e.Tick), e.Reason)
					case e.Outcome == ledger.Skipped && e.Reason.Code != ledger.CodeOverlap:
						t.Errorf("tick %v: %s", c.at(e.Tick), e.Reason)
					case e.Outcome == ledger.Skipped && within:
						t.Errorf("tick %v, which came in the outage: %s", c.at(e.Tick), e.Reason)
					}
					if !e.Tick.After(settled) {
						continue
					}
					if e.Outcome == ledger.Skipped {
						skipped++
					} else if late := e.Started.Sub(e.Tick); late > 6*time.Second {
						t.Errorf("tick %v ran %v late", c.at(e.Tick), late)
					} else {
						ran++
					}
				}
				t.Logf("then %d ran and %d were skipped", ran, skipped)
				if skipped < ran/3 || ran < 5 {
					t.Errorf("when all was caught up %d ticks ran, and %d were skipped", ran, skipped)
				}
			})
		})
	}
}
