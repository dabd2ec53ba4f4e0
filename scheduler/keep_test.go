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
)

// A lapsing Locker grants leases that end when over is set.
type lapsing struct {
	locking.Locker
	over atomic.Bool
}

func (l *lapsing) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
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

// A process that is stopped as soon as a function has begun finds its lease lost when
// the function returns, though nobody has found by then that the call lasts.
func TestLeaseThatEndsAtOnceIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		locker := &lapsing{Locker: c.locks}
		c.locker = locker
		var outcomes []scheduler.Outcome
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Observer.Finished = func(e scheduler.Entry, _ error) { outcomes = append(outcomes, e.Outcome) }
		}, every(t, "10s", "j", c.handler(func(context.Context, jobs.Run) error {
			locker.over.Store(true)
			return nil
		}))))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		if len(outcomes) != 1 || outcomes[0] != scheduler.LeaseLost {
			t.Errorf("the run ended %v, want %v", outcomes, scheduler.LeaseLost)
		}
	})
}
