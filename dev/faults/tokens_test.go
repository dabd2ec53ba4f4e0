package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
)

var tokenTimes = times{timeout: 200 * time.Millisecond, ttl: 900 * time.Millisecond, grace: time.Second}

// Four clients claim one name by turns, some with ticks, while nodes are frozen, flushed,
// or killed and restored to their first state, sometimes all five at once: tokens are
// unique and grow in real time, no tick is granted twice, no two leases last at once.
func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWar(t, false)
	want := length.Of(300, 20_000)
	var losses map[string]int
	w.run(t, func() {
		losses = w.harm(want)
	})
	w.book.check(t)
	claims := len(w.book.claims())
	report(t, "tokens", fmt.Sprintf("%d claims by 4 clients, tokens unique and growing: 0 violations. Meanwhile nodes: %s.\n", claims, counts(losses)))
	if claims < want {
		t.Errorf("%d claims, want %d", claims, want)
	}
}

// The same with the restart rule taken away by a lie: the nodes are declared
// durable, and forget all the same.
func TestTokensWithoutTheRestartRule(t *testing.T) {
	t.Parallel()
	w := newWar(t, true)
	rounds := 0
	w.run(t, func() {
		for len(w.book.broken()) == 0 && rounds < 50 {
			rounds++
			w.claimed(3)
			w.crash()
			w.claimed(3)
		}
	})
	found := w.book.broken()
	if len(found) == 0 {
		t.Fatalf("nodes forgot everything %d times without the restart rule, and no promise was broken: the campaign sees nothing", rounds)
	}
	report(t, "amnesia", fmt.Sprintf("Without the restart rule: violations found after %d losses of memory, the first: %s.\n", rounds, found[0]))
}

// A war is a cluster that is harmed while clients work.
type war struct {
	t       *testing.T
	c       *cluster
	book    *book
	rand    *rand.Rand
	clients []*replica
	seeds   []uint64
	turns   sync.RWMutex // read by clients in each turn
}

func newWar(t *testing.T, durable bool) *war {
	t.Helper()
	w := &war{t: t, rand: dice(t), book: newBook()}
	w.c = newCluster(t, tokenTimes)
	w.c.cfg.Durable = durable
	for range 4 {
		w.clients = append(w.clients, w.c.replica(t, nil))
		w.seeds = append(w.seeds, w.rand.Uint64())
	}
	for _, s := range w.c.servers {
		s.Save()
	}
	return w
}

// run lets the clients work until harm returns.
func (w *war) run(t *testing.T, harm func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for i, r := range w.clients {
		clients.Go(func() {
			for dice := rand.New(rand.NewPCG(w.seeds[i], 1)); ctx.Err() == nil; {
				w.turns.RLock()
				w.turn(dice, r)
				w.turns.RUnlock()
			}
		})
	}
	harm()
	stop()
	clients.Wait()
}

// turn is one claim of a client: of a plain lock, of a tick that is due now, or,
// like a late replica, of the tick that was granted last.
func (w *war) turn(dice *rand.Rand, r *replica) {
	tick := time.Now().Truncate(time.Millisecond)
	last := w.book.claims()
	switch n := dice.IntN(10); {
	case n < 3:
		tick = time.Time{}
	case n < 5 && len(last) > 0:
		tick = last[len(last)-1].Tick
	}
	void := dice.IntN(10) == 0
	lease, err := w.book.try(w.t, r, w.c.request(tick), void)
	switch {
	case err != nil:
		wait(w.t, time.Duration(dice.IntN(5_000))*time.Microsecond)
		return
	case void, dice.IntN(200) == 0: // dies without a release
		return
	case dice.IntN(10) == 0:
		_ = lease.Extend(w.t.Context()) // may be lost by now, the deadline says
	}
	w.book.over(lease)
	_ = release(w.t, lease) // as above
}

// claimed waits for n more claims.
func (w *war) claimed(n int) {
	w.t.Helper()
	before := len(w.book.claims())
	eventually(w.t, "clients claim", func() bool { return len(w.book.claims()) >= before+n })
}

// harm breaks nodes at random until there are enough claims, and returns its faults.
func (w *war) harm(claims int) map[string]int {
	did := map[string]int{}
	for n := 1; len(w.book.claims()) < claims; n++ {
		w.claimed(min(50, 1+w.rand.IntN(claims/5)))
		wait(w.t, time.Duration(w.rand.IntN(1_000))*time.Millisecond)
		s := w.c.servers[w.rand.IntN(size)]
		switch kind := w.rand.IntN(3); {
		case n%4 == 1:
			did["all five killed"]++
			w.crash()
		case kind == 0:
			did["frozen"]++
			s.Freeze()
			wait(w.t, time.Duration(w.rand.IntN(1_000))*time.Millisecond)
			s.Thaw()
		case kind == 1:
			did["flushed"]++
			command(w.t, s, "FLUSHALL")
		default:
			did["killed"]++
			s.Kill()
			s.Start()
		}
	}
	return did
}

// crash kills all nodes at any moment, and starts them with their first state. The first
// client then is a late replica, with a granted tick.
func (w *war) crash() {
	for _, s := range w.c.servers {
		s.Kill()
	}
	w.turns.Lock()
	defer w.turns.Unlock()
	for _, s := range w.c.servers {
		s.Start()
	}
	tick := w.book.lastTick()
	if tick.IsZero() {
		return
	}
	eventually(w.t, "somebody says what became of a tick", func() bool {
		lease, err := w.book.try(w.t, w.clients[0], w.c.request(tick), false)
		if err == nil {
			w.book.over(lease)
		}
		return err == nil || final(err)
	})
}
