package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A busy Locker is slow, and records the order of requests.
type busy struct {
	locking.Watcher
	slow time.Duration

	mu        sync.Mutex
	now, most int
	order     []string // jobs
	times     []time.Time
}

func (b *busy) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	b.order, b.times = append(b.order, req.Name), append(b.times, time.Now())
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.now--
	}()
	select {
	case <-time.After(b.slow):
		return b.Watcher.TryAcquire(ctx, req)
	case <-ctx.Done():
		return nil, &locking.AcquireError{Reason: locking.ErrNoQuorum, Name: req.Name, Votes: locking.Votes{Of: 1}}
	}
}

func claims(n int) func(*scheduler.Config) {
	return func(cfg *scheduler.Config) { cfg.MaxClaims = n }
}

// many returns jobs with ticks at one instant.
func many(t *testing.T, c *cluster, n int, interval string) (list []jobs.Job) {
	t.Helper()
	for i := range n {
		list = append(list, every(t, interval, fmt.Sprintf("j%03d", i), c.handler(nil)))
	}
	return list
}

// With 60 ticks at one instant a replica first claims those for which it is first, as many
// at once as allowed, and then those for which it is second.
func TestFirstInRankGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		others := []string{"r1", "r2", "r3"}
		for _, id := range others[1:] { // they are alive, and do nothing
			c.start(c.replica(id, nil))
		}
		b := &busy{Watcher: c.locks, slow: 10 * time.Millisecond}
		c.locker = b
		stop := c.start(c.replica("r1", claims(4), many(t, c, 60, "10s")...))
		time.Sleep(19 * time.Second)
		c.stop(stop)
		last, before, tick := 0, 0, c.begun.Add(10*time.Second)
		for i, job := range b.order {
			rank := scheduler.Rank(job, tick, "r1", others)
			if i > 0 && b.times[i].After(b.times[i-1]) {
				before = last // several with a permit at one instant come in any order
			}
			if rank < before {
				t.Fatalf("%s, of rank %d, was asked for after one of rank %d", job, rank, before)
			}
			last = max(last, rank)
		}
		if len(b.order) != 60 || b.most != 4 || last != 2 {
			t.Errorf("%d tries, up to %d at once, of ranks up to %d", len(b.order), b.most, last)
		}
		c.saw(60, "succeeded <nil>")
	})
}

// An attempt that waits for a claim permit until its window closes was too late; at a drain it ends
// at once; both leave their permit to others.
func TestWaitingForATurnEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		stop time.Duration
		says string
		most time.Duration // until Run returns
	}{
		{"window", 19 * time.Second, "this replica was asleep, stopped or too busy until the tick's window had closed", time.Second},
		{"drain", 10500 * time.Millisecond, "this replica drained before it could claim the tick", time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				b := &busy{Watcher: c.locks, slow: 400 * time.Millisecond}
				c.locker = b
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) { cfg.MaxClaims, cfg.Window = 1, time.Second }, many(t, c, 6, "10s")...))
				time.Sleep(tt.stop)
				began := time.Now()
				c.stop(stop)
				if took := time.Since(began); took > tt.most {
					t.Errorf("Run returned %v after its context had ended", took)
				}
				if c.count(tt.says) < 3 || c.count("succeeded <nil>") == 0 || b.most != 1 {
					t.Errorf("%d ticks %s, %d succeeded, %d tries at once", c.count(tt.says), tt.says, c.count("succeeded <nil>"), b.most)
				}
				if n := c.count("claimed") + c.count(tt.says); n != 6 {
					t.Errorf("%d of 6 ticks were decided", n)
				}
			})
		})
	}
}

// Extensions and releases need no claim permit: a run continues, and ends, while nodes that do not
// answer hold all claim permits.
func TestWhatIsHeldNeedsNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		b := &busy{Watcher: c.locks, slow: time.Millisecond}
		c.locker = b
		long := every(t, "1h", "long", c.handler(func(ctx context.Context, _ jobs.Run) error {
			select {
			case <-time.After(10 * time.Second): // longer than its lease
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}))
		short := every(t, "2s", "short", c.handler(nil))
		stop := c.start(c.replica("r1", claims(1), long, short))
		time.Sleep(time.Hour + time.Second)
		b.mu.Lock()
		b.slow = time.Hour
		b.mu.Unlock()
		time.Sleep(20 * time.Second)
		c.saw(1, "finished long 1h0m0s succeeded <nil>")
		c.stop(stop)
	})
}
