package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// countingWires counts the calls of each rule.
type countingWires struct {
	*wires
	mu    sync.Mutex
	calls map[string]int
}

func (w *countingWires) Eval(ctx context.Context, node string, script *client.Script, keys []string, args []any) (any, error) {
	w.mu.Lock()
	w.calls[script.Name()]++
	w.mu.Unlock()
	return w.wires.Eval(ctx, node, script, keys, args)
}

// since returns the calls since it was asked last, in words.
func (w *countingWires) since() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var words []string
	for _, name := range slices.Sorted(maps.Keys(w.calls)) {
		words = append(words, fmt.Sprintf("%s %d", name, w.calls[name]))
	}
	clear(w.calls)
	return strings.Join(words, ", ")
}

// countedCluster is five embedded nodes, every call to which is counted.
func countedCluster(t *testing.T) (*cluster, *countingWires) {
	t.Helper()
	c, w, _ := countedNodes(t, 5)
	return c, w
}

func countedNodes(t *testing.T, size int) (*cluster, *countingWires, *redistest.Minis) {
	t.Helper()
	minis := redistest.MiniN(t, size)
	w := &countingWires{wires: newWires(), calls: map[string]int{}}
	t.Cleanup(w.close)
	for _, url := range minis.URLs() {
		w.add(url, minis)
	}
	c := newCluster(t, minis.URLs(), func(cfg *membership.Config) { cfg.Transport, cfg.Embedded = w, true })
	w.since()
	return c, w, minis
}

// A direct try with competitors wins with a quorum, or gives back its votes; once the
// others have too, two rounds win the tick.
func TestDirectClaimsThatMeet(t *testing.T) {
	for name, tt := range map[string]struct {
		size   int
		others []int // nodes that others have
		wins   bool
		costs  string
	}{
		"others have a minority": {5, []int{0, 3}, true, "commit 5"},
		"others have a quorum":   {5, []int{0, 1, 4}, false, "commit 5, void 2"},
		"others have one of 3":   {3, []int{1}, true, "commit 3"},
		"others have two of 3":   {3, []int{0, 2}, false, "commit 3, void 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, c := newPlain(t, tt.size)
				l := plainLocker(t, c)
				req := direct(c.request(past(1)))
				others := make([]*try, len(tt.others)) // have a node each
				for i, node := range tt.others {
					others[i] = claimAt(t, l, req, 0, node)
				}
				p.since()
				lease, err := l.TryAcquire(t.Context(), req)
				if tt.wins != (err == nil) || !tt.wins && !errors.Is(err, locking.ErrTaken) {
					t.Fatalf("TryAcquire = %v, want it to win: %v", err, tt.wins)
				}
				synctest.Wait()
				if got := p.since(); got != tt.costs {
					t.Errorf("it costs %q, want %q", got, tt.costs)
				}
				for _, other := range others {
					for node := range tt.size {
						askAt(t, other, node, other.voidQuery())
					}
				}
				if err != nil {
					lease = mustAcquire(t, l, c.request(past(1)))
					if got := lease.Claim(); got.Attempt != 2 {
						t.Errorf("Claim = %+v, want attempt 2", got)
					}
				}
				mustRelease(t, lease)
			})
		})
	}
}

// Claims that follow each other within a millisecond need one round each: the token of
// the later one is above that of the earlier one.
func TestDirectClaimsWithinAMillisecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, c := newPlain(t, 3)
		l := plainLocker(t, c)
		for i := range 10 {
			time.Sleep(100 * time.Microsecond)
			p.since()
			lease := mustAcquire(t, l, direct(c.request(past(i))))
			synctest.Wait()
			if got := p.since(); got != "commit 3" {
				t.Errorf("claim %d costs %q", i, got)
			}
			mustRelease(t, lease)
			synctest.Wait()
		}
	})
}

// Twenty replicas claim the same tick in one round at the same instant: at most
// one wins. Each that was refused asks again in two rounds: one wins then.
func TestDirectContention(t *testing.T) {
	t.Parallel()
	const replicas, ticks = 20, 20
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
			wg.Go(func() { won[i] = competeDirectly(t, l, c.request(past(n)), 1) })
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

// competeDirectly tries that many times in one round before it tries in two.
func competeDirectly(t *testing.T, l *Locker, req locking.Request, times int) locking.Lease {
	for range times {
		if lease, err := l.TryAcquire(t.Context(), direct(req)); err == nil {
			if err := lease.Release(t.Context(), nil); err != nil {
				t.Errorf("Release = %v", err)
			}
			return lease
		}
		if !retry.Sleep(t.Context(), rand.N(10*time.Millisecond)) {
			return nil
		}
	}
	return compete(t, l, req)
}

// oneWinner returns its token, which must be larger than the last.
func oneWinner(t *testing.T, n int, won []locking.Lease, last locking.Token) locking.Token {
	t.Helper()
	winners := 0
	for _, lease := range won {
		if lease == nil {
			continue
		}
		winners++
		if got := lease.Claim().Token; got <= last {
			t.Errorf("tick %d has token %d after %d", n, got, last)
		}
		last = lease.Claim().Token
	}
	if winners != 1 {
		t.Errorf("tick %d was won %d times", n, winners)
	}
	return last
}
