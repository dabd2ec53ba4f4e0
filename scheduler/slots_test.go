package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// bill is a job of group billing with that many slots.
func bill(t *testing.T, slots int, interval, name string, handler jobs.Handler) jobs.Job {
	t.Helper()
	job := every(t, interval, name, handler)
	job.Group, job.GroupSize = "billing", slots
	return job
}

// holdSlot holds a slot of the group until its lease ends, like a dead replica.
func (c *cluster) holdSlot(slot int, ttl time.Duration) locking.Lease {
	c.t.Helper()
	lease, err := c.locks.TryAcquire(c.t.Context(), locking.Request{
		Name: fmt.Sprintf("group:billing:%d", slot), TTL: ttl, Holder: "gone for refunds",
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return lease
}

// A group limits all replicas together, and every job gets its turn.
func TestGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, g := newCluster(t), new(gauge)
		var list []jobs.Job
		for i := range 6 {
			list = append(list, bill(t, 2, "20s", fmt.Sprintf("j%d", i), c.handler(g.lasting(1500*time.Millisecond))))
		}
		var stops []func() error
		for i := range 5 {
			stops = append(stops, c.start(c.replica(fmt.Sprintf("r%d", i), nil, list...)))
		}
		time.Sleep(5*time.Minute - time.Second)
		for _, stop := range stops {
			c.stop(stop)
		}
		for _, job := range list {
			for _, e := range c.ticks(job.Name) {
				if e.Outcome != ledger.Succeeded || e.Attempt != 1 {
					t.Errorf("%s %v %s, attempt %d: %s", e.Job, c.at(e.Tick), e.Outcome, e.Attempt, e.Reason)
				}
			}
		}
		if g.most != 2 || len(g.order) != 6*14 {
			t.Errorf("%d runs, up to %d at once, want %d and 2", len(g.order), g.most, 6*14)
		}
	})
}

// A tick whose group is full until its window closes is skipped, once, by any replica, and
// the claim is given back.
func TestGroupIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		long := bill(t, 1, "1h", "invoices", c.handler(new(gauge).lasting(30*time.Minute)))
		short := bill(t, 1, "10s", "refunds", c.handler(nil))
		r1 := c.start(c.replica("r1", nil, long))
		time.Sleep(time.Hour + time.Second)
		var stops []func() error
		for _, id := range []string{"r2", "r3"} {
			stops = append(stops, c.start(c.replica(id, nil, short)))
		}
		time.Sleep(24 * time.Second)
		for _, stop := range append(stops, r1) {
			defer c.stop(stop)
		}
		const full = " skipped: limit: group billing is full (1 of 1): held by r1 for invoices"
		c.wantTicks("refunds", "1h0m10s"+full, "1h0m20s running")
		c.saw(1, "skipped refunds")
		if runs, err := c.ledger.Runs(t.Context(), ledger.Query{Job: "refunds", Limit: 10}); err != nil || len(runs) != 1 || runs[0].Outcome != ledger.Running {
			t.Errorf("runs %+v, %v; want the one that waits", runs, err)
		}
	})
}

// The slot of a dead replica is free when its lease has ended, not before.
func TestSlotOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		stop := c.start(c.replica("r1", nil, bill(t, 1, "10s", "j", c.handler(nil))))
		time.Sleep(9 * time.Second)
		c.holdSlot(0, 5*time.Second) // until 14 s
		time.Sleep(10 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s succeeded")
		if began := c.at(c.ticks("j")[0].Started); began < 14*time.Second || began > 15*time.Second {
			t.Errorf("began at %v, want soon after 14s", began)
		}
	})
}

// The context of a run ends before its slot does, and the ledger names the lost lease.
func TestSlotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = fixedSlots{c.locks}
		var ended time.Duration
		stop := c.start(c.replica("r1", nil, bill(t, 2, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
			err := untilEnd(ctx, run)
			if ended = c.at(time.Now()); !errors.Is(err, locking.ErrLeaseLost) {
				t.Errorf("the context ended with %v", err)
			}
			return err
		}))))
		time.Sleep(19 * time.Second)
		c.stop(stop)
		if ended <= 12*time.Second || ended >= 13*time.Second {
			t.Errorf("the context ended at %v; the slot's lease ended at 13s", ended)
		}
		if got := c.ticks("j"); len(got) != 1 || got[0].Outcome != ledger.LeaseLost ||
			!strings.HasPrefix(got[0].Reason.String(), "the lease of slot group:billing:") {
			t.Errorf("the ledger has %+v", got)
		}
	})
}

// fixedSlots is a Locker whose slots cannot be extended.
type fixedSlots struct{ locking.Locker }

func (f fixedSlots) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if req.Tick.IsZero() {
		return fixedLeases(f).TryAcquire(ctx, req)
	}
	return f.Locker.TryAcquire(ctx, req)
}

// Waiting for a slot keeps the claim; if that is lost, the function is not called.
func TestLeaseLostWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = fixedLeases{c.locks}
		stop := c.start(c.replica("r1", nil, bill(t, 1, "10s", "j", c.handler(nil))))
		time.Sleep(9 * time.Second)
		c.holdSlot(0, 8*time.Second)
		time.Sleep(10 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s missed: limit: the lease was lost while the tick waited for a slot of group billing")
		if len(c.runs) != 0 {
			t.Error("the function was called")
		}
	})
}

// The larger priority goes first on a replica, and has a head start elsewhere.
func TestGroupPriority(t *testing.T) {
	t.Parallel()
	for replicas := 1; replicas <= 3; replicas++ {
		synctest.Test(t, func(t *testing.T) {
			c, g := newCluster(t), new(gauge)
			var list []jobs.Job
			for _, priority := range []int{1, 0, 3, 2} {
				job := bill(t, 1, "20s", fmt.Sprintf("p%d", priority), c.handler(g.lasting(time.Second)))
				job.Priority = priority
				list = append(list, job)
			}
			var stops []func() error
			for i := range replicas {
				stops = append(stops, c.start(c.replica(fmt.Sprintf("r%d", i), nil, list...)))
			}
			time.Sleep(39 * time.Second)
			for _, stop := range stops {
				c.stop(stop)
			}
			if len(g.order) != 4 || g.order[0] != "p3" || replicas == 1 && !slices.Equal(g.order, []string{"p3", "p2", "p1", "p0"}) {
				t.Errorf("%d replicas ran %v", replicas, g.order)
			}
		})
	}
}

// A claim that waits for its slot when the replica drains still runs: the others know the
// tick as claimed, so it would be lost.
func TestDrainWaitsForASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		r1 := c.start(c.replica("r1", nil, bill(t, 1, "10s", "j", c.handler(nil))))
		r2 := c.start(c.replica("r2", nil, bill(t, 1, "10s", "j", c.handler(nil))))
		time.Sleep(9 * time.Second)
		c.holdSlot(0, 5*time.Second)
		time.Sleep(2 * time.Second)
		c.stop(r1)
		c.stop(r2)
		c.wantTicks("j", "10s succeeded")
	})
}

// A tick that waits for a slot yields to the next one, however long its overlap policy
// would let it wait for a run.
func TestLaterTickEndsWaitingForASlot(t *testing.T) {
	t.Parallel()
	for _, overlap := range []jobs.Overlap{jobs.OverlapSkip, jobs.OverlapQueue, jobs.OverlapCancelPrevious} {
		t.Run(string(overlap), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				job := bill(t, 1, "5s", "j", c.handler(nil))
				job.Overlap = overlap
				stop := c.start(c.replica("r1", nil, job))
				time.Sleep(4 * time.Second)
				c.holdSlot(0, 7*time.Second) // until 11 s
				time.Sleep(10 * time.Second)
				c.stop(stop)
				c.wantTicks("j", "5s skipped: limit: group billing is full (1 of 1): held by gone for refunds", "10s succeeded")
			})
		})
	}
}

// While a group has a smaller size on some replicas, those use fewer slots.
func TestGroupSizesDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, g := newCluster(t), new(gauge)
		list := func(slots int) (list []jobs.Job) {
			for i := range 8 {
				list = append(list, bill(t, slots, "20s", fmt.Sprintf("j%d", i), c.handler(g.lasting(3*time.Second))))
			}
			return list
		}
		small, large := c.start(c.replica("small", nil, list(1)...)), c.start(c.replica("large", nil, list(3)...))
		time.Sleep(5*time.Minute - time.Second)
		c.stop(small)
		c.stop(large)
		if g.most > 3 {
			t.Errorf("%d runs at once, want no more than the larger size", g.most)
		}
	})
}

// A job with queue waits for its slot until its next tick comes, as for its own run. Others
// wait within their window.
func TestQueuingForASlot(t *testing.T) {
	t.Parallel()
	for overlap, want := range map[jobs.Overlap]string{
		jobs.OverlapSkip:  "1h0m0s skipped: limit: group billing is full (1 of 1): held by r1 for first",
		jobs.OverlapQueue: "1h0m0s succeeded",
	} {
		t.Run(string(overlap), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				first := bill(t, 1, "1h", "first", c.handler(new(gauge).lasting(20*time.Minute)))
				second := bill(t, 1, "1h", "second", c.handler(nil))
				first.Priority, second.Overlap = 1, overlap
				stop := c.start(c.replica("r1", nil, first, second))
				time.Sleep(90 * time.Minute)
				c.stop(stop)
				c.wantTicks("first", "1h0m0s succeeded")
				c.wantTicks("second", want)
			})
		})
	}
}

// counting counts the tries to take a slot.
type counting struct {
	locking.Locker
	slots *atomic.Int64
}

func (l counting) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	if strings.HasPrefix(req.Name, "group:") {
		l.slots.Add(1)
	}
	return l.Locker.TryAcquire(ctx, req)
}

// A long wait for a slot asks as rarely as a long wait for a run: every few seconds, for
// the whole cluster.
func TestLongWaitForASlotAsksSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := bill(t, 1, "1h", "j", c.handler(nil))
		job.Overlap = jobs.OverlapQueue
		var slots atomic.Int64
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) { cfg.Locker = counting{cfg.Locker, &slots} }, job))
		time.Sleep(time.Hour - time.Second)
		c.holdSlot(0, 20*time.Minute)
		time.Sleep(30 * time.Minute)
		c.stop(stop)
		c.wantTicks("j", "1h0m0s succeeded")
		if n := slots.Load(); n > 1200 {
			t.Errorf("asked %d times in 20 minutes", n)
		}
	})
}
