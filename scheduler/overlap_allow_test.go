package scheduler_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// With allow every tick starts at its time, during earlier runs, on one replica or on
// several, and each lease is extended.
func TestOverlapAllow(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			var stops []func() error
			for i := range replicas {
				job := every(t, "1s", "j", c.handler(lasting(4500*time.Millisecond)))
				job.Overlap = jobs.OverlapAllow
				stops = append(stops, c.start(c.replica(string(rune('a'+i)), nil, job)))
			}
			time.Sleep(3950 * time.Millisecond)
			if running := runningNow(t, c); running != 3 {
				t.Errorf("%d replicas: %d runs at once, want 3", replicas, running)
			}
			for _, stop := range stops { // they drain
				go func() { _ = stop() }()
			}
			time.Sleep(10 * time.Second)
			c.wantTicks("j", "1s succeeded", "2s succeeded", "3s succeeded")
			var last locking.Token
			for i, e := range c.ticks("j") {
				if late := c.at(e.Started) - c.at(e.Tick); late > 500*time.Millisecond || e.Token <= last {
					t.Errorf("%d replicas: tick %d started %v late with token %d after %d", replicas, i+1, late, e.Token, last)
				}
				last = e.Token
			}
		})
	}
}

func runningNow(t *testing.T, c *cluster) int {
	t.Helper()
	n := 0
	for _, e := range c.ticks("j") {
		if e.Outcome == ledger.Running {
			n++
		}
	}
	return n
}

// Without allow a tick waits for runs with it: the job's policy changed from allow to skip.
func TestSkipWaitsForRunsBeside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		time.Sleep(time.Second)
		beside, err := c.locks.TryAcquire(t.Context(), locking.Request{Name: "j", Tick: time.Now(), TTL: 2500 * time.Millisecond, Holder: "r9", Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		stop := c.start(c.replica("r1", nil, every(t, "1s", "j", c.handler(nil))))
		time.Sleep(2 * time.Second)
		if err := beside.Release(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(950 * time.Millisecond)
		c.stop(stop)
		list := c.ticks("j")
		if len(list) < 2 || list[1].Outcome != ledger.Skipped || !strings.Contains(list[1].Reason.String(), "r9 still holds the lease") {
			t.Errorf("ticks = %+v", list)
		}
	})
}

// Contradicting policies are refused.
func TestAllowGoesNotWithRerun(t *testing.T) {
	t.Parallel()
	job := every(t, "1s", "j", func(context.Context, jobs.Run) error { return nil })
	job.Overlap, job.OnCrash = jobs.OverlapAllow, jobs.CrashRerun
	locks := new(locktest.Memory)
	_, err := scheduler.New(scheduler.Config{Replica: "r1", Stores: scheduler.Stores{Locker: locks, Ledger: schedtest.NewLedger(locks)}}, []jobs.Job{job})
	if err == nil || !strings.Contains(err.Error(), "a later one was claimed") {
		t.Errorf("New = %v", err)
	}
}
