package ledger

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// tick is the n-th instant of the jobs in these tests, all of them due.
func tick(n int) time.Time {
	return time.Now().Truncate(time.Hour).Add(time.Duration(n)*time.Second - 2*time.Hour).UTC()
}

func started(job string, n int) ledger.Entry {
	return ledger.Entry{Job: job, Tick: tick(n), Trigger: ledger.BySchedule, Replica: "a", Outcome: ledger.Running, Started: tick(n)}
}

func finished(job string, n int) ledger.Entry {
	e := started(job, n)
	e.Outcome, e.Calls, e.Finished = ledger.Succeeded, 1, e.Started.Add(time.Second)
	return e
}

func skipped(job string, n int, reason string) ledger.Entry {
	return ledger.Entry{
		Job: job, Tick: tick(n), Trigger: ledger.BySchedule, Replica: "a", Outcome: ledger.Skipped, Reason: ledger.TextReason(reason),
	}
}

// A cluster is a store, a locker and a ledger.
type cluster struct {
	testing.TB
	*kvtest.Memory
	*Ledger
	locker locking.Locker
}

func newCluster(tb testing.TB) *cluster {
	tb.Helper()
	m, l := fresh(tb)
	return &cluster{tb, m, l, lockerOn(tb, m)}
}

func (c *cluster) claim(job string, n int) locking.Lease {
	c.Helper()
	lease, err := c.locker.TryAcquire(c.Context(), locking.Request{
		Name: job, Tick: tick(n), TTL: 10 * time.Second, Holder: "a", Note: ledger.EncodeNote(started(job, n)),
	})
	if err != nil {
		c.Fatalf("claiming tick %d: %v", n, err)
	}
	return lease
}

func (c *cluster) end(lease locking.Lease, job string, n int) {
	c.Helper()
	if err := lease.Release(c.Context(), ledger.EncodeNote(finished(job, n))); err != nil {
		c.Fatalf("Release = %v", err)
	}
}

// A run never reads as interrupted while it goes on, whatever happens while the ledger is
// read.
func TestReadDuringChanges(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before func(c *cluster) locking.Lease
		during func(c *cluster, l locking.Lease)
		want   []ledger.Outcome // of the newest run; Missed: there is none
	}{
		"claim": {
			func(*cluster) locking.Lease { return nil },
			func(c *cluster, _ locking.Lease) { c.claim("job", 1) },
			[]ledger.Outcome{ledger.Missed, ledger.Running},
		},
		"claim of the next tick": {
			func(c *cluster) locking.Lease { c.end(c.claim("job", 1), "job", 1); return nil },
			func(c *cluster, _ locking.Lease) { c.claim("job", 2) },
			[]ledger.Outcome{ledger.Succeeded, ledger.Running},
		},
		"end": {
			func(c *cluster) locking.Lease { return c.claim("job", 1) },
			func(c *cluster, l locking.Lease) { c.end(l, "job", 1) },
			[]ledger.Outcome{ledger.Running, ledger.Succeeded},
		},
		"extension": {
			func(c *cluster) locking.Lease {
				l := c.claim("job", 1)
				time.Sleep(9 * time.Second)
				return l
			},
			func(c *cluster, l locking.Lease) {
				if err := l.Extend(c.Context()); err != nil {
					c.Error(err)
				}
				time.Sleep(3 * time.Second)
			},
			[]ledger.Outcome{ledger.Running},
		},
		"end and claim": {
			func(c *cluster) locking.Lease { return c.claim("job", 1) },
			func(c *cluster, l locking.Lease) { c.end(l, "job", 1); c.claim("job", 2) },
			[]ledger.Outcome{ledger.Running, ledger.Running},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := range 6 { // before the first call, after it, before the second one, and so on
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t)
					l := tt.before(c)
					var calls int
					c.Fault = func(context.Context, kvtest.Call) error {
						if calls++; calls == at+1 {
							c.Fault = nil
							tt.during(c, l)
						}
						return nil
					}
					list, err := c.Runs(t.Context(), ledger.Query{Job: "job", Limit: 1})
					if err != nil {
						t.Fatal(err)
					}
					got := ledger.Missed
					if len(list) > 0 {
						got = list[0].Outcome
					}
					if got != tt.want[0] && got != tt.want[len(tt.want)-1] {
						t.Errorf("with the change at point %d the run is %s, want one of %v", at, got, tt.want)
					}
				})
			}
		})
	}
}

// A lease counts through its last millisecond, and only for the claim that is open.
func TestInterruptedWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.claim("job", 1)
		for _, want := range []ledger.Outcome{ledger.Running, ledger.Interrupted} {
			list, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 1})
			if err != nil || len(list) != 1 || list[0].Outcome != want {
				t.Errorf("the run is %+v, %v, want %s", list, err, want)
			}
			time.Sleep(10*time.Second + time.Millisecond)
		}
	})
}
