package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/locking"
)

// Any minority may be gone, no majority, for each number of nodes.
func TestClusterSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5, 7} {
		for gone := range n + 1 {
			t.Run(fmt.Sprintf("%d of %d gone", gone, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testClusterSize(t, n, gone) })
			})
		}
	}
}

func testClusterSize(t *testing.T, n, gone int) {
	t.Helper()
	minis := redistest.MiniN(t, n)
	c := newMiniCluster(t, minis)
	time.Sleep(time.Hour)
	l := c.locker(t)
	first := mustAcquire(t, l, c.request(past(0)))
	for i := range gone {
		minis.Stop(i)
	}
	if 2*gone >= n {
		if err := first.Extend(t.Context()); !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("Extend = %v, want %v", err, locking.ErrNoQuorum)
		}
		_, err := l.TryAcquire(t.Context(), c.request(past(1)))
		if !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("TryAcquire = %v, want %v", err, locking.ErrNoQuorum)
		}
		// The end is unknown: Release tries until the lease is over.
		if err := first.Release(t.Context(), nil); !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Release = %v, want %v", err, locking.ErrLeaseLost)
		}
		if now := time.Now(); now.Before(first.Deadline()) {
			t.Errorf("Release gave up at %v, before the deadline %v", now, first.Deadline())
		}
		return
	}
	if err := first.Extend(t.Context()); err != nil {
		t.Errorf("Extend = %v", err)
	}
	mustRelease(t, first)
	second := mustAcquire(t, l, c.request(past(1)))
	if got := second.Claim().Votes; got.Of != n || got.For <= n/2 {
		t.Errorf("Votes = %v, want a quorum of %d", got, n)
	}
	mustRelease(t, second)
}

// The deadline is counted from before the first message, drift taken off, and
// moves with each extension.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		lease := mustAcquire(t, c.locker(t), c.request(past(0)))
		for range 3 {
			want := time.Now().Add(c.cfg.TTL - c.cfg.TTL/100 - 2*time.Millisecond)
			if got := lease.Deadline(); !got.Equal(want) {
				t.Errorf("Deadline = %v, want %v", got, want)
			}
			time.Sleep(c.cfg.TTL / 3)
			if err := lease.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A replica that is held up between the rounds for longer than its locks last gives up,
// and leaves the tick to others.
func TestTooSlow(t *testing.T) {
	onPlain(t, func(t *testing.T, _ *plainNodes, c *cluster) {
		held := c.cfg.TTL
		l, err := New(c.open(t), Options{Clock: func() time.Time {
			time.Sleep(held)
			return time.Now()
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		_, err = l.TryAcquire(t.Context(), c.request(past(0)))
		if !errors.Is(err, locking.ErrTooSlow) || !strings.Contains(err.Error(), "job: validity was used up before the claim was complete (3 of 5 votes") {
			t.Errorf("TryAcquire = %v, want %v", err, locking.ErrTooSlow)
		}
		held = 0
		mustRelease(t, mustAcquire(t, l, c.request(past(0))))
	})
}

// Nodes that know of no token, be it that they have forgotten it, are given one
// above all that were issued in earlier seconds.
func TestTokensFollowTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 3)
		c := newMiniCluster(t, minis)
		l := c.locker(t)
		for n := range 3 {
			time.Sleep(time.Hour)
			lease := mustAcquire(t, l, c.request(past(n)))
			least := locking.Token(time.Now().Unix() << 20)
			if got := lease.Claim().Token; got < least {
				t.Errorf("token %d, want at least %d", got, least)
			}
			mustRelease(t, lease)
			for i := range 3 {
				minis.Node(i).Del("{quorate}:job:job:claim.schedule")
				minis.Node(i).Del("{quorate}:job:job:fence")
			}
		}
	})
}

// The deadline of a lease is the earlier of redsync's and its own.
func TestEarlier(t *testing.T) {
	t.Parallel()
	own := time.Now()
	for _, until := range []time.Time{own, own.Add(-time.Second), own.Add(time.Second), own.Add(-time.Hour).Round(0)} {
		want := own
		if until.Before(own) {
			want = until
		}
		if got := earlier(own, until); !got.Equal(want) {
			t.Errorf("the earlier of %v and %v is %v", own, until, got)
		}
	}
}

// A majority accepted a larger token than the clock gives, before the only round, or
// between the two. The try is void and the next one follows at once, above it.
func TestStaleTokenIsRaised(t *testing.T) {
	for name, inOneRound := range map[string]bool{"in one round": true, "in two": false} {
		t.Run(name, func(t *testing.T) {
			onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
				mustRelease(t, mustAcquire(t, plainLocker(t, c), c.request(past(0)))) // each knows the job
				synctest.Wait()
				p.since()
				time.Sleep(time.Millisecond)
				fence := uint64(time.Now().Add(5*time.Second).Unix()) << 20
				l, err := New(c.open(t), Options{Clock: func() time.Time {
					p.raise(fence, 0, 1, 2)
					return time.Now()
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = l.Close() }()
				req := c.request(past(1))
				req.Direct = inOneRound
				lease := mustAcquire(t, l, req)
				if got := lease.Claim(); uint64(got.Token) <= fence {
					t.Errorf("Claim = %+v, want a token above %d", got, fence)
				}
				synctest.Wait()
				want := []string{"commit 10, lock 10", ", void 1", ", void 2", ", void 3", ", void 4", ", void 5"}
				if inOneRound { // two have accepted the first try
					want = []string{"commit 10, lock 5", ", void 1", ", void 2"}
				}
				// A request that comes after those of the second try leaves nothing to void.
				rest, ok := strings.CutPrefix(p.since(), want[0])
				if !ok || rest != "" && !slices.Contains(want[1:], rest) {
					t.Errorf("it costs %q after %q, want %q", rest, want[0], want)
				}
				mustRelease(t, lease)
			})
		})
	}
}

// A try that is refused for its numbers alone leaves nothing to give back.
func TestStaleTryLeavesNothing(t *testing.T) {
	onPlain(t, func(t *testing.T, p *plainNodes, c *cluster) {
		l := plainLocker(t, c)
		mustRelease(t, mustAcquire(t, l, direct(c.request(past(0)))))
		synctest.Wait()
		p.since()
		lease := mustAcquire(t, l, direct(c.request(past(1)))) // in the same millisecond
		synctest.Wait()
		if got, want := p.since(), "commit 10, lock 5"; got != want {
			t.Errorf("a claim whose first token is too small costs %q, want %q", got, want)
		}
		mustRelease(t, lease)
	})
}

// Release reports at once that others may have worked, if the nodes have lost the lock
// early.
func TestReleaseAfterLostLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		c := newMiniCluster(t, minis)
		time.Sleep(time.Hour)
		l := c.locker(t)
		lease := mustAcquire(t, l, c.request(past(0)))
		for i := range 5 {
			minis.Node(i).Del("{quorate}:job:job:lock")
		}
		mustRelease(t, mustAcquire(t, l, c.request(past(1))))
		began := time.Now()
		if err := lease.Release(t.Context(), nil); !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Release = %v, want %v", err, locking.ErrLeaseLost)
		}
		if now := time.Now(); !now.Equal(began) {
			t.Errorf("Release took %v, want one round", now.Sub(began))
		}
	})
}

// A try's owner must be unique: two tries for the same tick by the same replica would
// otherwise free each other's locks.
func TestOwnerIsUnique(t *testing.T) {
	t.Parallel()
	l := newTestLocker(t, 3)
	seen := map[string]bool{}
	for range 1000 {
		v := l.cfg.Random(locking.Request{Name: "job", Tick: past(0), TTL: l.set.TTL(), Holder: "r1"})
		if seen[v] {
			t.Fatalf("two tries are known as %s", v)
		}
		seen[v] = true
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	l := newTestLocker(t, 3)
	good := locking.Request{Name: "job", Tick: past(0), TTL: l.set.TTL()}
	if err := l.check(good); err != nil {
		t.Fatalf("check of a good request = %v", err)
	}
	for name, spoil := range map[string]func(*locking.Request){
		"no name":                   func(r *locking.Request) { r.Name = "" },
		"tick in microseconds":      func(r *locking.Request) { r.Tick = r.Tick.Add(time.Microsecond) },
		"tick before 1970":          func(r *locking.Request) { r.Tick = time.Unix(-5, 0) },
		"ttl of microseconds":       func(r *locking.Request) { r.TTL -= time.Microsecond },
		"ttl of four node timeouts": func(r *locking.Request) { r.TTL = 4 * l.set.Timeout() },
		"ttl as long as the grace":  func(r *locking.Request) { r.TTL = l.set.Grace() },
	} {
		req := good
		spoil(&req)
		if _, err := l.TryAcquire(t.Context(), req); err == nil || errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("%s: TryAcquire = %v, want the mistake", name, err)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	l := newTestLocker(t, 1)
	for name, cfg := range map[string]Options{
		"drift":     {DriftFactor: 0.5},
		"keep":      {Keep: -1},
		"clean for": {CleanFor: -time.Second},
	} {
		if _, err := New(l.set, cfg); err == nil {
			t.Errorf("%s: New accepts %+v", name, cfg)
		}
	}
}
