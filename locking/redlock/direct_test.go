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

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// countingWires counts the calls of each rule.
type countingWires struct {
	*wires
	mu    sync.Mutex
	calls map[string]int
}

func (w *countingWires) Eval(ctx context.Context, node string, script *nodes.Script, keys []string, args []any) (any, error) {
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
	c := newCluster(t, minis.URLs(), func(cfg *nodes.Config) { cfg.Transport, cfg.Embedded = w, true })
	w.since()
	return c, w, minis
}

func direct(req locking.Request) locking.Request {
	req.Direct = true
	return req
}

func rerun(req locking.Request) locking.Request {
	req.Mode = locking.AtLeastOnce
	return req
}

// A direct claim is one call to each of a quorum; what it costs where it is not alone, or
// not the first.
func TestDirectClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, w := countedCluster(t)
		time.Sleep(time.Hour + 123*time.Millisecond)
		set := c.open(t)
		l, err := New(set, Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		costs := func(what, want string) {
			t.Helper()
			if got := w.since(); got != want {
				t.Errorf("%s costs %q, want %q", what, got, want)
			}
		}
		two := mustAcquire(t, l, c.request(past(0)))
		costs("a claim in two rounds", "acquire 5, commit 5")
		mustRelease(t, two)
		costs("its release", "finish 5")

		time.Sleep(time.Millisecond) // a tick later within the second
		one := mustAcquire(t, l, direct(c.request(past(1))))
		costs("a claim in one round", "commit 3")
		if got := one.Claim(); got.Token <= two.Claim().Token || got.Attempt != 1 || got.Votes != (locking.Votes{For: 3, Of: 5}) {
			t.Errorf("Claim = %+v after token %d, want a larger one, attempt 1 and 3 of 5 votes", got, two.Claim().Token)
		}
		if left := time.Until(one.Deadline()); left != c.cfg.TTL-(Config{}).WithDefaults().drift(c.cfg.TTL) {
			t.Errorf("the lease lasts for %v, want the ttl of %v less drift", left, c.cfg.TTL)
		}
		_, err = l.TryAcquire(t.Context(), direct(c.request(past(1))))
		if !errors.Is(err, locking.ErrClaimed) {
			t.Errorf("a second claim of the tick = %v, want %v", err, locking.ErrClaimed)
		}
		costs("a claim that is refused everywhere", "commit 3")
		mustRelease(t, one)
		costs("the release of a claim in one round", "finish 3")

		stale := mustAcquire(t, l, direct(c.request(past(2)))) // in the same millisecond
		costs("a claim whose first token is too small", "commit 6")
		if err := stale.Void(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.since()
		again := mustAcquire(t, l, direct(rerun(c.request(past(2)))))
		costs("a claim after a void one", "commit 6")
		if got := again.Claim(); got.Attempt != 2 || got.Token <= stale.Claim().Token {
			t.Errorf("Claim = %+v, want attempt 2 and a token above %d", got, stale.Claim().Token)
		}
		mustRelease(t, again)
		w.since()
		mustRelease(t, mustAcquire(t, l, direct(locking.Request{Name: "plain", TTL: c.cfg.TTL})))
		costs("a plain lock", "acquire 5, commit 5, finish 5")
	})
}

// A direct claim that meets others asks further nodes only if it has more than they
// have, and gives back what it has if it does not; once the others have too, two
// rounds win the tick.
func TestDirectClaimsThatMeet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size   int
		others []int // the places, in the order of the name, of nodes that others have
		want   locking.Votes
		costs  string
	}{
		"others have all":              {5, []int{0, 1, 2}, locking.Votes{}, "commit 3"},
		"others have more":             {5, []int{0, 2}, locking.Votes{}, "commit 3, void 1"},
		"others have less":             {5, []int{0}, locking.Votes{For: 4, Of: 5}, "commit 5"},
		"others have the first of two": {3, []int{0}, locking.Votes{}, "commit 2, void 1"},
		"others have the other of two": {3, []int{1}, locking.Votes{For: 2, Of: 3}, "commit 3"},
		"others have one node of four": {7, []int{3}, locking.Votes{For: 6, Of: 7}, "commit 7"},
		"others have none of these":    {5, []int{3, 4}, locking.Votes{For: 3, Of: 5}, "commit 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, w, _ := countedNodes(t, tt.size)
				time.Sleep(time.Hour)
				l, err := New(c.open(t), Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = l.Close() }()
				req := direct(c.work(past(1)))
				var others []*attempt // have a node each
				for _, place := range tt.others {
					others = append(others, claimAt(t, l, req, 0, order(l.set.Nodes(), req.Name)[place]))
				}
				w.since()
				lease, err := l.TryAcquire(t.Context(), req)
				if won := tt.want.For > 0; won != (err == nil) || !won && !errors.Is(err, locking.ErrTaken) {
					t.Fatalf("TryAcquire = %v, want it to win: %v", err, won)
				}
				if got := w.since(); got != tt.costs {
					t.Errorf("it costs %q, want %q", got, tt.costs)
				}
				for _, other := range others {
					other.void(t.Context())
				}
				if err != nil {
					lease = mustAcquire(t, l, c.work(past(1)))
					if got := lease.Claim(); got.Attempt != 2 || got.Votes.For != tt.size {
						t.Errorf("Claim = %+v, want attempt 2 and all votes", got)
					}
				} else if got := lease.Claim().Votes; got != tt.want {
					t.Errorf("Votes = %v, want %v", got, tt.want)
				}
				mustRelease(t, lease)
			})
		})
	}
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
			return s.Client().Exists(t.Context(), "quorate:job:job:lock").Val() == 0
		})
	}
}

// competeDirectly tries so many times in one round before it tries in two.
func competeDirectly(t *testing.T, l *Locker, req locking.Request, times int) locking.Lease {
	for range times {
		if lease, err := l.TryAcquire(t.Context(), direct(req)); err == nil {
			if err := lease.Release(t.Context(), nil); err != nil {
				t.Errorf("Release = %v", err)
			}
			return lease
		}
		if !pause(t.Context(), rand.N(10*time.Millisecond)) {
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
