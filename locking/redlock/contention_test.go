package redlock

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/locking"
)

// Twenty replicas compete for the same ticks at the same instant: each tick is
// won once, none is lost, tokens grow, and no lock is left.
func TestContention(t *testing.T) {
	t.Parallel()
	const replicas, ticks = 20, 40
	servers := redistest.StartN(t, 5)
	c := newCluster(t, redistest.URLs(servers), nil)
	lockers := make([]*Locker, replicas)
	for i := range lockers {
		lockers[i] = c.locker(t)
	}
	var last locking.Token
	for n := range ticks {
		won := make([]locking.Lease, replicas)
		var wg sync.WaitGroup
		for i, l := range lockers {
			req := c.request(past(n))
			req.Holder = strconv.Itoa(i)
			wg.Go(func() { won[i] = compete(t, l, req) })
		}
		wg.Wait()
		last = oneWinner(t, n, won, last)
	}
	for _, s := range servers {
		eventually(t, "no lock is left", func() bool {
			return s.Client().Exists(t.Context(), "{quorate}:job:job:lock").Val() == 0
		})
	}
}

// compete tries until the tick is won, which it runs at once, or gone.
func compete(t *testing.T, l *Locker, req locking.Request) locking.Lease {
	for {
		lease, err := l.TryAcquire(t.Context(), req)
		switch {
		case err == nil:
			if err := lease.Release(t.Context(), nil); err != nil {
				t.Errorf("Release = %v", err)
			}
			return lease
		case errors.Is(err, locking.ErrDone), errors.Is(err, locking.ErrClaimed), errors.Is(err, locking.ErrSuperseded):
			return nil
		case errors.Is(err, locking.ErrSplit), errors.Is(err, locking.ErrTaken), errors.Is(err, locking.ErrNoQuorum):
			if !retry.Sleep(t.Context(), rand.N(50*time.Millisecond)) {
				return nil
			}
		default:
			t.Errorf("TryAcquire = %v", err)
			return nil
		}
	}
}

// The methods of a lease may be called from any goroutine: redsync's own
// mutex races when its expiry is read during an extension.
func TestLeaseInManyGoroutines(t *testing.T) {
	t.Parallel()
	c := newMiniCluster(t, redistest.MiniN(t, 3))
	lease := mustAcquire(t, c.locker(t), c.request(past(0)))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if err := lease.Extend(t.Context()); err != nil && !errors.Is(err, locking.ErrLeaseLost) {
					t.Errorf("Extend = %v", err)
				}
			}
		})
		wg.Go(func() {
			for range 1000 {
				if lease.Deadline().IsZero() {
					t.Error("Deadline is zero")
				}
			}
		})
	}
	wg.Go(func() {
		if err := lease.Release(t.Context(), nil); err != nil {
			t.Errorf("Release = %v", err)
		}
	})
	wg.Wait()
}
