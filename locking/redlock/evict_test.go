package redlock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/redistest"
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
		err := locking.Hold(t.Context(), lease, locking.HoldConfig{Every: every, Margin: time.Second}, func(ctx context.Context) error {
			h, err := Evict(t.Context(), set, "job", "  stuck since\nthe deploy ")
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

// TestEvictNobody: nothing to release, and words that say nothing.
func TestEvictNobody(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	set, l := f.open(t), f.locker(t)
	refused := func(want error, text string) {
		t.Helper()
		_, err := Evict(t.Context(), set, "job", "why not")
		if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			t.Errorf("Evict = %v, want %v and %q", err, want, text)
		}
	}
	refused(ErrNotHeld, "job")
	lease := mustAcquire(t, l, f.request(past(1)))
	for _, reason := range []string{"", " ", "1", strings.Repeat("x", maxReason+1)} {
		if _, err := Evict(t.Context(), set, "job", reason); err == nil || !strings.Contains(err.Error(), "say why") {
			t.Errorf("Evict for %q = %v", reason, err)
		}
	}
	f.expire(t, 0, 1, 2)
	refused(ErrNotHeld, "2 of 5 nodes only")
	f.expire(t, 3, 4)
	refused(ErrNotHeld, "never said how it ended")
	if err := lease.Void(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(ErrNotHeld, "job")
}

// expire ends the job's lock on the given nodes.
func (f *five) expire(t *testing.T, nodes ...int) {
	t.Helper()
	for _, n := range nodes {
		if err := f.servers[n].Client().Del(t.Context(), "quorate:job:job:lock").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEvictAStranger: a lock that no claim names is released, too, one that
// would never end among them.
func TestEvictAStranger(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	for _, s := range f.servers {
		s.Client().Set(t.Context(), "quorate:job:job:lock", "somebody's", 0)
	}
	l := f.locker(t)
	if _, err := l.TryAcquire(t.Context(), f.request(past(1))); !errors.Is(err, locking.ErrTaken) {
		t.Fatalf("TryAcquire = %v, want %v", err, locking.ErrTaken)
	}
	h, err := Evict(t.Context(), f.open(t), "job", "left by the old service")
	if err != nil || h.Known() || h.Left != Endless {
		t.Errorf("Evict = %+v, %v", h, err)
	}
	mustRelease(t, mustAcquire(t, l, f.request(past(1))))
}

// TestEvictWithoutSome: a holder whose quorum is partly out of sight is evicted
// all the same; without a quorum nothing is promised.
func TestEvictWithoutSome(t *testing.T) {
	t.Parallel()
	f := newFive(t)
	l := f.locker(t)
	f.proxies[3].BlackHole()
	f.proxies[4].BlackHole()
	lease := mustAcquire(t, l, f.request(past(1)))
	f.proxies[3].Pass()
	f.proxies[4].Pass()
	f.proxies[0].BlackHole()
	f.proxies[1].BlackHole()
	set := f.open(t)
	if h, err := Evict(t.Context(), set, "job", "it hangs"); err != nil || h.Token != lease.Claim().Token || h.Held() {
		t.Errorf("Evict = %+v, %v", h, err)
	}
	f.proxies[2].BlackHole()
	if _, err := Evict(t.Context(), f.open(t), "job", "it hangs"); !errors.Is(err, locking.ErrNoQuorum) {
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
