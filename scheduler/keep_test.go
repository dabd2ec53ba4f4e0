package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An expiring Locker grants leases that end when over is set.
type expiring struct {
	locking.Locker
	over atomic.Bool
}

func (l *expiring) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := l.Locker.TryAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	return &lapsed{lease, &l.over}, nil
}

type lapsed struct {
	locking.Lease
	over *atomic.Bool
}

func (l *lapsed) Deadline() time.Time {
	if l.over.Load() {
		return time.Now()
	}
	return l.Lease.Deadline()
}

// A process that is stopped right after a function began finds its lease lost when the
// function returns, even before a timer has fired.
func TestLeaseThatEndsAtOnceIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		locker := &expiring{Locker: c.locks}
		c.locker = locker
		var outcomes []ledger.Outcome
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			on(cfg, event.Finished, func(e event.Event) { outcomes = append(outcomes, e.Entry.Outcome) })
		}, every(t, "10s", "j", c.handler(func(context.Context, jobs.Run) error {
			locker.over.Store(true)
			return nil
		}))))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		if len(outcomes) != 1 || outcomes[0] != ledger.LeaseLost {
			t.Errorf("the run ended %v, want %v", outcomes, ledger.LeaseLost)
		}
	})
}

// slowLast is a ledger whose answer comes when the lease has ended.
type slowLast struct {
	ledger.Store
	over *atomic.Bool
}

func (s slowLast) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if q.Job == "j" && q.Limit > 1 {
		s.over.Store(true)
	}
	return s.Store.Runs(ctx, q)
}

// A function is not called under a lease that ended during the query for the remaining
// tries.
func TestLeaseThatEndsBeforeTheFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		locker := &expiring{Locker: c.locks}
		c.locker = locker
		job := every(t, "10s", "j", c.handler(nil))
		job.Retry, job.OnCrash = jobs.Retry{Attempts: 2}, jobs.CrashRerun
		time.Sleep(9 * time.Second)
		_, err := c.locks.TryAcquire(t.Context(), locking.Request{
			Name: "j", Tick: c.begun.Add(10 * time.Second), TTL: 2 * time.Second, Mode: locking.AtLeastOnce, Holder: "gone",
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Ledger = slowLast{c.ledger, &locker.over}
		}, job))
		time.Sleep(9 * time.Second)
		c.stop(stop)
		if !locker.over.Load() || len(c.runs) > 0 {
			t.Errorf("the ledger was asked: %t, and then the function was called %d times", locker.over.Load(), len(c.runs))
		}
	})
}
