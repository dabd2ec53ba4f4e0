package redlock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// TestEvictEndsTheRun: the holder's context ends at its next extension, with
// the operator's words; tick and token stay used; the next tick runs.
func TestEvictEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		minis := redistest.MiniN(t, 5)
		defer minis.Close()
		c := newMiniCluster(t, minis)
		l, set := c.locker(t), c.open(t)
		lease := mustAcquire(t, l, c.request(past(1)))
		every := c.cfg.TTL / 3
		var evicted time.Time
		k := locking.Keep(t.Context(), lease, locking.KeepConfig{Every: every, Margin: time.Second})
		defer k.Stop()
		err := k.Do(func(ctx context.Context) error {
			h, err := Evict(t.Context(), set, "job", 0, "  stuck since\nthe deploy ")
			if err != nil || h.Holder != "the holder" || h.Token != lease.Claim().Token {
				t.Errorf("Evict = %v, %v", h, err)
			}
			evicted = time.Now()
			if _, err := l.TryAcquire(t.Context(), c.request(past(1))); !errors.Is(err, locking.ErrClaimed) {
				t.Errorf("the same tick again: %v, want %v", err, locking.ErrClaimed)
			}
			next := mustAcquire(t, l, c.request(past(2)))
			if next.Claim().Token <= lease.Claim().Token {
				t.Errorf("token %d after %d", next.Claim().Token, lease.Claim().Token)
			}
			<-ctx.Done()
			if err := next.Extend(t.Context()); err != nil {
				t.Errorf("extending the next run: %v", err)
			}
			return context.Cause(ctx)
		})
		why, ok := errors.AsType[*locking.EvictedError](err)
		if !ok || why.Reason != "stuck since the deploy" || !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("the context ended with %v", err)
		}
		if waited := time.Since(evicted); waited > every+c.cfg.Timeout {
			t.Errorf("it took %v, extending every %v", waited, every)
		}
	})
}

// TestEvictNobody: nothing to release, and empty reasons.
func TestEvictNobody(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	set := f.open(t)
	for _, reason := range []string{"", " ", "1", strings.Repeat("x", locking.MaxReason+1)} {
		if _, err := Evict(t.Context(), set, "job", 0, reason); err == nil || !strings.Contains(err.Error(), "say why") {
			t.Errorf("Evict for %q = %v", reason, err)
		}
	}
	eventually(t, "nobody is found", func() bool {
		_, err := Evict(t.Context(), set, "job", 0, "it hangs")
		return errors.Is(err, locking.ErrNotHeld)
	})
	eventually(t, "an orphan is told from a holder", func() bool {
		// Nodes that do not answer could be the rest of its quorum: then it goes.
		f.servers[0].Client().Set(t.Context(), "{quorate}:job:job:lock", "left behind", time.Minute)
		_, err := Evict(t.Context(), set, "job", 0, "it hangs")
		return errors.Is(err, locking.ErrNotHeld) && strings.Contains(err.Error(), "on only 1 of 5 nodes")
	})
	lapsed := []holding{{Holding: locking.Holding{Name: "x", Holder: "a", Token: 5, On: locking.Votes{Of: 5}}, free: 5}}
	if err := notHeld("x", lapsed); !errors.Is(err, locking.ErrNotHeld) || !strings.Contains(err.Error(), "a with token 5 has expired") {
		t.Errorf("of a lock that has run out: %v", err)
	}
}

// TestEvictAStranger: a lock without a claim is released, too, even one without end.
func TestEvictAStranger(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	for _, s := range f.servers {
		s.Client().Set(t.Context(), "{quorate}:job:job:lock", "somebody's", 0)
	}
	l := f.locker(t)
	if _, err := l.TryAcquire(t.Context(), f.request(past(1))); !errors.Is(err, locking.ErrTaken) {
		t.Fatalf("TryAcquire = %v, want %v", err, locking.ErrTaken)
	}
	if h := mustEvict(t, f.open(t)); h.Known() || h.Left != locking.Endless {
		t.Errorf("Evict = %+v", h)
	}
	mustRelease(t, acquireSoon(t, l, f.request(past(1))))
}

// TestEvictWithoutSome: a holder whose quorum is partly out of sight is evicted
// all the same; without a quorum nothing is promised.
func TestEvictWithoutSome(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	f.proxies[3].BlackHole()
	f.proxies[4].BlackHole()
	lease := acquireSoon(t, l, f.request(past(1))) // on the other three
	f.proxies[3].Pass()
	f.proxies[4].Pass()
	f.proxies[0].BlackHole()
	f.proxies[1].BlackHole()
	if h := mustEvict(t, f.open(t)); h.Token != lease.Claim().Token || h.Held() {
		t.Errorf("Evict = %+v", h)
	}
	f.proxies[2].BlackHole()
	if _, err := Evict(t.Context(), f.open(t), "job", 0, "it hangs"); !errors.Is(err, locking.ErrNoQuorum) {
		t.Errorf("Evict without a quorum = %v", err)
	}
	for n := range 3 {
		f.proxies[n].Pass()
	}
	eventually(t, "the lease is lost", func() bool {
		_, ok := errors.AsType[*locking.EvictedError](lease.Extend(t.Context()))
		return ok
	})
}

// mustEvict tries until a quorum has answered. The first answer names the holder.
func mustEvict(t *testing.T, set *membership.Set) (who locking.Holding) {
	t.Helper()
	eventually(t, "the lock is released", func() bool {
		h, err := Evict(t.Context(), set, "job", 0, "it hangs")
		if err != nil && !errors.Is(err, locking.ErrNoQuorum) {
			t.Fatalf("Evict = %v", err)
		}
		if who.On.Of == 0 {
			who = h
		}
		return err == nil
	})
	return who
}

// acquireSoon asks until the lease is granted.
func acquireSoon(t *testing.T, l locking.Locker, req locking.Request) (lease locking.Lease) {
	t.Helper()
	eventually(t, "the lease is granted", func() bool {
		var err error
		lease, err = l.TryAcquire(t.Context(), req)
		return err == nil
	})
	return lease
}
