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
	minis := redistest.MiniN(t, 5)
	w := &countingWires{wires: newWires(), calls: map[string]int{}}
	t.Cleanup(w.close)
	for _, url := range minis.URLs() {
		w.add(url, minis)
	}
	c := newCluster(t, minis.URLs(), func(cfg *nodes.Config) { cfg.Transport, cfg.Embedded = w, true })
	w.since()
	return c, w
}

func direct(req locking.Request) locking.Request {
	req.Direct = true
	return req
}

func rerun(req locking.Request) locking.Request {
	req.Mode = locking.AtLeastOnce
	return req
}

// A direct claim is one call per node; what it costs where it is not alone, or
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
		costs("a claim in one round", "commit 5")
		if got := one.Claim(); got.Token <= two.Claim().Token || got.Attempt != 1 || got.Votes != (locking.Votes{For: 5, Of: 5}) {
			t.Errorf("Claim = %+v after token %d, want a larger one, attempt 1 and 5 of 5 votes", got, two.Claim().Token)
		}
		if left := time.Until(one.Deadline()); left != c.cfg.TTL-(Config{}).WithDefaults().drift(c.cfg.TTL) {
			t.Errorf("the lease lasts for %v, want the ttl of %v less drift", left, c.cfg.TTL)
		}
		_, err = l.TryAcquire(t.Context(), direct(c.request(past(1))))
		if !errors.Is(err, locking.ErrClaimed) {
			t.Errorf("a second claim of the tick = %v, want %v", err, locking.ErrClaimed)
		}
		costs("a claim that is refused everywhere", "commit 5")
		mustRelease(t, one)
		w.since()

		stale := mustAcquire(t, l, direct(c.request(past(2)))) // in the same millisecond
		costs("a claim whose first token is too small", "commit 10")
		if err := stale.Void(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.since()
		again := mustAcquire(t, l, direct(rerun(c.request(past(2)))))
		costs("a claim after a void one", "commit 10")
		if got := again.Claim(); got.Attempt != 2 || got.Token <= stale.Claim().Token {
			t.Errorf("Claim = %+v, want attempt 2 and a token above %d", got, stale.Claim().Token)
		}
		mustRelease(t, again)
		w.since()
		mustRelease(t, mustAcquire(t, l, direct(locking.Request{Name: "plain", TTL: c.cfg.TTL})))
		costs("a plain lock", "acquire 5, commit 5, finish 5")
	})
}

// Where the nodes are divided a direct claim gives back what it has, at the nodes
// that hold something of it; once the others have too, two rounds win the tick.
func TestDirectClaimsThatMeet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, w := countedCluster(t)
		time.Sleep(time.Hour)
		l, err := New(c.open(t), Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		req := direct(c.request(past(1)))
		var others [3]*attempt // have a node each
		for i := range others {
			others[i] = newAttempt(l, req)
			others[i].nextBallot()
			b := others[i].ballot
			others[i].kept(i, others[i].call(t.Context(), i, commitScript, b.token, "0", b.attempt, "other", 10, b.record))
		}
		w.since()
		if _, err := l.TryAcquire(t.Context(), req); !errors.Is(err, locking.ErrTaken) {
			t.Errorf("TryAcquire = %v, want %v", err, locking.ErrTaken)
		}
		if got, want := w.since(), "commit 5, void 2"; got != want {
			t.Errorf("a claim that got two nodes of five costs %q, want %q", got, want)
		}
		for _, other := range others {
			other.void(t.Context())
		}
		if got, want := w.since(), "void 3"; got != want {
			t.Errorf("giving back one node each costs %q, want %q", got, want)
		}
		lease := mustAcquire(t, l, c.request(past(1)))
		if got := lease.Claim(); got.Attempt != 2 || got.Votes.For != 5 {
			t.Errorf("Claim = %+v, want attempt 2 and all votes", got)
		}
		mustRelease(t, lease)
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
