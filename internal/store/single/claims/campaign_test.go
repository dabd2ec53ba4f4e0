package claims_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/locking"
)

// What the campaign is asked for, after -args.
var (
	asked = flag.Int("worlds", 0, "worlds of the campaign; 0: as many as the tests have")
	first = flag.Int("first", 0, "the seed of the first world")
)

// Replicas compete for ticks on a store that loses requests and answers, lets commits arrive
// minutes late, and is replaced by standbys that are behind. No tick runs twice, no two leases
// last at the same time, and tokens grow.
func TestCampaign(t *testing.T) {
	t.Parallel()
	worlds := 12
	switch {
	case *asked > 0:
		worlds = *asked
	case testing.Short():
		worlds = 4
	}
	granted, failovers := 0, 0
	for seed := *first; seed < *first+worlds; seed++ {
		inWorld(t, func(w *world) {
			c := &campaign{world: w, rand: rand.New(rand.NewPCG(uint64(seed), 0)), ran: map[string]locking.Token{}}
			c.run()
			granted, failovers = granted+c.grants, failovers+c.failovers
			if t.Failed() {
				t.Logf("in world %d", seed)
			}
		})
	}
	t.Logf("%d claims were granted, and standbys took over %d times", granted, failovers)
	if granted < 50*worlds || failovers < worlds {
		t.Error("that is too few to show anything")
	}
}

type campaign struct {
	*world
	rand              *rand.Rand // guarded by the world's mutex
	grants, failovers int

	state sync.Mutex
	ran   map[string]locking.Token // by tick
	last  locking.Token
	held  []locking.Lease // granted and not ended
}

// chance reports true once in n times.
func (c *campaign) chance(n int) bool { return c.rand.IntN(n) == 0 }

// pause returns a random duration.
func (c *campaign) pause(most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.rand.Int64N(int64(most)))
}

func (c *campaign) run() {
	c.faults(func(call kvtest.Call) error {
		switch {
		case call.Method == "Commit" && !call.Answered && c.chance(12):
			time.AfterFunc(time.Duration(c.rand.Int64N(int64(2*time.Minute))), func() { c.arrives(call.Txn) })
			return errCut
		case c.chance(25):
			return errCut
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(c.Context(), 20*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range 3 {
		l := c.replica()
		wg.Go(func() {
			for ctx.Err() == nil {
				c.tries(ctx, l)
				time.Sleep(c.pause(time.Second))
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(c.pause(4 * time.Minute))
			standby := c.m.Backup()
			time.Sleep(c.pause(10 * time.Second))
			c.m.Restore(standby)
			c.failovers++
		}
	})
	wg.Wait()
	c.faults(nil)
	time.Sleep(2 * time.Minute) // what is late arrives
}

// tries asks for one tick, and works if it is granted.
func (c *campaign) tries(ctx context.Context, l *claims.Locker) {
	now := time.Now().Truncate(time.Second)
	r := locking.Request{Name: "job", Tick: now.Add(-c.pause(3 * time.Second).Truncate(time.Second)), Holder: "a", TTL: 5 * time.Second}
	c.mu.Lock()
	if c.chance(4) {
		r.Stream = "manual"
	}
	die, wait := c.chance(6), c.rand.IntN(3)
	c.mu.Unlock()
	c.state.Lock()
	below := c.last
	c.state.Unlock()
	lease, err := l.TryAcquire(ctx, r)
	if err != nil {
		return
	}
	c.granted(lease, below)
	for range wait {
		time.Sleep(2 * time.Second)
		if errors.Is(lease.Extend(ctx), locking.ErrLeaseLost) {
			return // the run ends
		}
	}
	if !die {
		c.ended(lease)
		_ = lease.Release(ctx, nil)
	}
}

// granted checks a new lease. Below is the largest token granted before it was requested.
func (c *campaign) granted(lease locking.Lease, below locking.Token) {
	c.state.Lock()
	defer c.state.Unlock()
	claim := lease.Claim()
	tick := fmt.Sprintf("%s at %v", claim.Stream, claim.Tick)
	if before := c.ran[tick]; before != 0 {
		c.Errorf("the tick %s was granted with tokens %d and %d", tick, before, claim.Token)
	}
	if claim.Token <= below {
		c.Errorf("token %d was granted after %d", claim.Token, below)
	}
	for _, other := range c.held {
		if locking.Left(other) > 0 {
			c.Errorf("leases with tokens %d and %d last at the same time", other.Claim().Token, claim.Token)
		}
	}
	c.ran[tick], c.last = claim.Token, max(c.last, claim.Token)
	c.held = append(c.held, lease)
	c.grants++
}

func (c *campaign) ended(lease locking.Lease) {
	c.state.Lock()
	defer c.state.Unlock()
	for i, other := range c.held {
		if other == lease {
			c.held = append(c.held[:i], c.held[i+1:]...)
			return
		}
	}
}
