package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// voters is a Locker like a quorum of five nodes: a vote reaches each node after a random
// latency, the first one gets it, and an attempt without three votes returns its votes.
type voters struct {
	locks locking.Watcher

	mu     sync.Mutex
	nodes  [5]map[string]*locking.Request // by name: the owner of the vote
	splits int
}

func (v *voters) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	votes := v.each(func(node map[string]*locking.Request) bool {
		if node[req.Name] == nil {
			node[req.Name] = &req
		}
		return node[req.Name] == &req
	})
	defer v.each(func(node map[string]*locking.Request) bool {
		if node[req.Name] == &req {
			delete(node, req.Name)
		}
		return true
	})
	if votes >= 3 {
		return v.locks.TryAcquire(ctx, req)
	}
	v.mu.Lock()
	v.splits++
	v.mu.Unlock()
	return nil, &locking.AcquireError{Reason: locking.ErrSplit, Name: req.Name, Votes: locking.Votes{For: votes, Of: 5}}
}

// each sends what to every node and counts the nodes where it returned true.
func (v *voters) each(what func(map[string]*locking.Request) bool) int {
	var sent sync.WaitGroup
	count := 0
	for i := range v.nodes {
		sent.Go(func() {
			time.Sleep(rand.N(1200*time.Microsecond) + 300*time.Microsecond)
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.nodes[i] == nil {
				v.nodes[i] = make(map[string]*locking.Request)
			}
			if what(v.nodes[i]) {
				count++
			}
		})
	}
	sent.Wait()
	return count
}

// compete makes replicas fire the same ticks at the same instant and returns the number of
// runs of each tick, and of split votes.
func compete(t *testing.T, replicas, ticks int, change func(*scheduler.Config)) (runs map[time.Time]int, splits int) {
	t.Helper()
	c := newCluster(t)
	v := &voters{locks: c.locks}
	c.locker = v
	var stops []func() error
	job := every(t, "1s", "j", c.handler(func(context.Context, jobs.Run) error {
		time.Sleep(5 * time.Millisecond)
		return nil
	}))
	for i := range replicas {
		stops = append(stops, c.start(c.replica(fmt.Sprintf("r%02d", i), change, job)))
	}
	time.Sleep(time.Duration(ticks)*time.Second + 999*time.Millisecond)
	for _, stop := range stops {
		c.stop(stop)
	}
	runs = make(map[time.Time]int)
	for i := 1; i <= ticks; i++ {
		runs[c.begun.Add(time.Duration(i)*time.Second).UTC()] = 0
	}
	winners := make(map[string]bool)
	last := locking.Token(0)
	for _, r := range c.runs {
		runs[r.Tick]++
		winners[r.Replica] = true
		if r.Token <= last {
			t.Errorf("tick %v: token %d after %d", r.Tick, r.Token, last)
		}
		last = r.Token
	}
	if len(winners) < 2 && len(c.runs) > 20 {
		t.Errorf("all %d ticks were won by one replica", len(c.runs))
	}
	return runs, v.splits
}

func lostAndRepeated(runs map[time.Time]int) (lost, repeated int) {
	for _, n := range runs {
		if n == 0 {
			lost++
		}
		if n > 1 {
			repeated++
		}
	}
	return lost, repeated
}

const manyReplicas, manyTicks = 20, 200

func TestEveryTickOnceUnderContention(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*scheduler.Config)
		splits bool // retries must have been needed
	}{
		{"stagger and retry", nil, false},
		{"retry alone", func(c *scheduler.Config) { c.Stagger = -1 }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs, splits := compete(t, manyReplicas, manyTicks, tt.change)
				lost, repeated := lostAndRepeated(runs)
				t.Logf("%d ticks, %d lost, %d repeated, %d split votes", len(runs), lost, repeated, splits)
				if len(runs) != manyTicks || lost != 0 || repeated != 0 {
					t.Errorf("%d ticks, %d lost, %d repeated", len(runs), lost, repeated)
				}
				if tt.splits && splits < manyTicks {
					t.Errorf("only %d split votes: nothing was shown", splits)
				}
			})
		})
	}
}

// oneTry lets no replica try twice: it takes every refusal for a final one.
type oneTry struct{ locking.Locker }

func (l oneTry) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := l.Locker.TryAcquire(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", locking.ErrUnvouched, err)
	}
	return lease, nil
}

// The test above notices the loss of stagger and retry.
func TestTicksAreLostWithoutStaggerAndRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs, _ := compete(t, manyReplicas, manyTicks, func(c *scheduler.Config) {
			c.Stagger, c.Locker = -1, oneTry{c.Locker}
		})
		lost, repeated := lostAndRepeated(runs)
		t.Logf("%d ticks, %d lost, %d repeated", len(runs), lost, repeated)
		if lost < manyTicks/10 || repeated != 0 {
			t.Errorf("%d of %d ticks lost, %d repeated; want many and none", lost, len(runs), repeated)
		}
	})
}
