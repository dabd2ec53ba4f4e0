package claims_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// The holder's context ends at its next extension, with the operator's words, also if another
// has the lock by then; tick and token stay used.
func TestEvict(t *testing.T) {
	t.Parallel()
	for _, overlap := range [][2]bool{{false, false}, {true, true}, {false, true}, {true, false}} {
		inWorld(t, func(w *world) {
			r, next := w.tick(1), w.tick(2)
			r.Beside, next.Beside = overlap[0], overlap[1]
			lease := w.acquire(r)
			h, err := w.l.Evict(w.Context(), "job", 0, "  stuck since\nthe deploy ")
			if err != nil || h.Token != lease.Claim().Token || h.Holder != "a" || !h.Held() {
				w.Errorf("Evict = %+v, %v", h, err)
			}
			w.refused(r, locking.ErrClaimed)
			later := w.acquire(next)
			w.larger(lease, later)
			err = lease.Extend(w.Context())
			why, ok := errors.AsType[*locking.EvictedError](err)
			if !ok || why.Reason != "stuck since the deploy" {
				w.Errorf("Extend = %v", err)
			}
			w.extends(later)
			if _, err := w.l.Evict(w.Context(), "job", h.Token, "again"); !errors.Is(err, locking.ErrNotHeld) {
				w.Errorf("Evict of an earlier token = %v", err)
			}
			w.extends(later)
			w.release(later)
		})
	}
}

func TestEvictNobody(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		fails := func(token locking.Token, reason string, want error, text string) {
			w.Helper()
			if _, err := w.l.Evict(w.Context(), "job", token, reason); !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
				w.Errorf("Evict = %v, want %v with %q", err, want, text)
			}
		}
		fails(0, " x ", locking.ErrReason, "say why")
		fails(0, "why", locking.ErrNotHeld, "job: nobody holds the lock")
		first, second := w.acquire(beside(w.tick(1))), w.acquire(beside(w.tick(2)))
		fails(0, "why", locking.ErrSeveral, fmt.Sprintf("token %d", first.Claim().Token))
		fails(7, "why", locking.ErrNotHeld, "with token 7")
		if h, err := w.l.Evict(w.Context(), "job", first.Claim().Token, "why"); err != nil || !h.Tick.Equal(first.Claim().Tick) {
			w.Errorf("Evict = %v, %v", h, err)
		}
		w.extendsNot(first)
		w.extends(second)
		w.expire()
		fails(0, "why", locking.ErrNotHeld, "has expired, but its run never reported an end")
	})
}

// A holder that extends at the same time is released nevertheless.
func TestEvictWhileItIsExtended(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		time.Sleep(time.Second)
		w.during(func() { w.extends(lease) })
		if _, err := w.l.Evict(w.Context(), "job", 0, "stuck"); err != nil {
			w.Errorf("Evict = %v", err)
		}
		w.extendsNot(lease)
	})
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		time.Sleep(time.Second)
		commits := 0
		w.faults(func(c kvtest.Call) error {
			if c.Method != "Commit" || c.Answered {
				return nil
			}
			if commits++; commits == 1 {
				return errCut // so the next commit comes from what is read
			}
			if commits == 2 {
				w.mu.Unlock()
				defer w.mu.Lock()
				if _, err := w.l.Evict(w.Context(), "job", 0, "stuck"); err != nil {
					w.Errorf("Evict = %v", err)
				}
			}
			return nil
		})
		_, evicted := errors.AsType[*locking.EvictedError](lease.Extend(w.Context()))
		if !evicted {
			w.Error("an extension won over an operator's release")
		}
	})
}

// Only the holder that was named is released, not one that comes meanwhile.
func TestEvictSparesTheNext(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		var next locking.Lease
		w.during(func() {
			w.release(lease)
			next = w.acquire(w.tick(2))
		})
		_, err := w.l.Evict(w.Context(), "job", 0, "stuck")
		w.wants("Evict", err, locking.ErrNotHeld)
		w.extends(next)
	})
}

// What is held, and what was never ended, is listed with its claim; the rest is not.
func TestHolders(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		named := func(name string, r locking.Request) locking.Request {
			r.Name = name
			return r
		}
		w.acquire(named("a-lapsed", again(w.tick(1))))
		w.expire()
		var want []locking.Lease
		want = append(want, w.acquire(named("b", beside(w.tick(1)))), w.acquire(named("b", beside(w.tick(2)))), w.acquire(locking.Request{Name: "c", Holder: "a"}))
		w.release(w.acquire(named("d-done", w.tick(1))))
		if err := w.acquire(named("e-void", w.tick(1))).Void(w.Context()); err != nil {
			w.Fatal(err)
		}
		got, err := w.l.Holders(w.Context())
		if err != nil || len(got) != 4 {
			w.Fatalf("Holders = %+v, %v", got, err)
		}
		if h := got[0]; h.Name != "a-lapsed" || h.Held() || !h.Known() || h.Left != 0 || h.Mode != locking.AtLeastOnce || h.On != (locking.Votes{Of: 1}) {
			w.Errorf("one that has expired: %+v", h)
		}
		want[0], want[1] = want[1], want[0] // the larger token is first
		for i, lease := range want {
			h, c := got[i+1], lease.Claim()
			if h.Name != c.Name || h.Token != c.Token || !h.Tick.Equal(c.Tick) || h.Beside != c.Beside || h.Attempt != 1 || h.Holder != "a" ||
				!h.Held() || h.Done || h.Void || h.Left <= ttl-time.Second || h.Left > ttl+time.Millisecond || time.Since(h.Since).Abs() > time.Second {
				w.Errorf("listed %+v, want %+v", h, c)
			}
		}
	})
}

// FORGET leaves nothing but the marks that keep ticks closed and tokens growing.
func TestForget(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		unknown := func() {
			w.Helper()
			w.wants("Forget", w.l.Forget(w.Context(), "job"), locking.ErrUnknownName)
		}
		unknown()
		var last locking.Lease
		for n := range 250 { // more than a page of entries
			last = w.acquire(w.tick(n + 1))
			w.release(last)
			time.Sleep(time.Second)
		}
		w.acquire(locking.Request{Name: "job too"})
		held := w.acquire(beside(w.tick(251)))
		w.wants("Forget", w.l.Forget(w.Context(), "job"), locking.ErrTaken)
		w.release(held)
		if err := w.l.Forget(w.Context(), "job"); err != nil {
			w.Fatal(err)
		}
		for _, kind := range []kv.Kind{kv.Claims, kv.Leases, kv.Entries, kv.Logs} {
			for _, r := range w.stored(kind) {
				if r.Key.Name == "job" {
					w.Errorf("%s is left", r.Key)
				}
			}
		}
		unknown()
		w.refused(w.tick(251), locking.ErrSuperseded)
		w.larger(held, w.acquire(w.tick(252)))
	})
}

// A claim or an extension that comes first prevents that the name is forgotten.
func TestForgetAgainstClaims(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.release(w.acquire(beside(w.tick(1))))
		w.during(func() { w.acquire(beside(w.tick(2))) })
		w.wants("Forget", w.l.Forget(w.Context(), "job"), locking.ErrTaken)
	})
	inWorld(t, func(w *world) {
		lease := w.acquire(w.tick(1))
		w.ages(ttl / 2)
		arrive := w.delayed(func() { w.wants("Extend", lease.Extend(w.Context()), locking.ErrNoQuorum) })
		w.ages(ttl/2 + time.Second)
		w.during(func() { arrive() })
		w.wants("Forget", w.l.Forget(w.Context(), "job"), locking.ErrTaken)
	})
}

// A run that comes while a job is forgotten keeps its entry, and one that ends afterwards
// leaves none.
func TestForgetAmongRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		lapsed := w.acquire(w.tick(1))
		w.expire()
		var next locking.Lease
		commits := 0
		w.faults(func(c kvtest.Call) error {
			if c.Method == "Commit" && !c.Answered {
				if commits++; commits == 2 { // the claims are gone, the entries are not
					w.mu.Unlock()
					defer w.mu.Lock()
					next, _ = w.l.TryAcquire(w.Context(), w.tick(2))
				}
			}
			return nil
		})
		if err := w.l.Forget(w.Context(), "job"); err != nil || next == nil {
			w.Fatalf("Forget = %v, and the next run is %v", err, next)
		}
		w.faults(nil)
		if got := w.stored(kv.Entries); len(got) != 1 || w.entry(next.Claim()).Kind != records.Started {
			w.Errorf("the entries are %v, want that of the next run", got)
		}
		w.larger(lapsed, next)
		w.release(next)
		if err := w.l.Forget(w.Context(), "job"); err != nil {
			w.Fatal(err)
		}
		w.wants("Release", lapsed.Release(w.Context(), nil), locking.ErrLeaseLost)
		if got := w.stored(kv.Entries); len(got) != 0 {
			w.Errorf("an end has left %v of a job that was forgotten", got)
		}
	})
}

// However many runs overlap and die, a job's records stay few; those that live are kept.
func TestOverlappingRunsAreBounded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		living := w.acquire(beside(w.tick(1)))
		for n := range 200 {
			lease := w.acquire(beside(w.tick(n + 2)))
			if n%2 == 0 {
				w.release(lease)
			}
			time.Sleep(ttl / 10)
			w.extends(living)
		}
		if n := len(w.stored(kv.Leases)); n > 60 {
			w.Errorf("%d leases are kept", n)
		}
		claims, err := records.Decode[records.Claims](w.stored(kv.Claims)[0])
		if err != nil || len(claims.Earlier) > 30 {
			w.Errorf("%d claims are kept, %v", len(claims.Earlier), err)
		}
		w.refused(w.tick(300), locking.ErrTaken)
		w.release(living)
		w.expire()
		w.release(w.acquire(w.tick(300)))
		if n := len(w.stored(kv.Leases)); n != 1 {
			w.Errorf("%d leases are kept, want that of the job", n)
		}
	})
}

// Mistakes that no retry can fix are no refusals; what the store refuses for good is not
// tried again.
func TestMistakes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for _, r := range []locking.Request{
			{}, {Name: "job", TTL: 4 * timeout}, {Name: "job", TTL: grace}, {Name: "job", Tick: time.Unix(1, 1)}, {Name: "job", Tick: time.Unix(-1, 0)},
		} {
			_, err := w.l.TryAcquire(w.Context(), r)
			if _, refused := errors.AsType[*locking.AcquireError](err); err == nil || refused {
				w.Errorf("%+v: %v", r, err)
			}
			if err := w.l.Watch(r, 0).Look(w.Context()); err != nil && r.TTL == 0 {
				w.Errorf("Look at %+v = %v", r, err)
			}
		}
		w.methods()
		w.refused(w.tick(3600), locking.ErrFuture)
		w.m.Bounds = kv.Limits{Keys: 100, Bytes: 300}
		r := w.tick(1)
		r.Note = []byte(`"` + strings.Repeat("x", 1000) + `"`)
		w.refused(r, locking.ErrRefused)
		if got := w.methods(); len(got) != 2 {
			w.Errorf("the store was asked %v, want to be read once for each", got)
		}
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if _, err := w.l.TryAcquire(ctx, w.tick(1)); !errors.Is(err, locking.ErrNoQuorum) || !errors.Is(err, context.Canceled) {
			w.Errorf("TryAcquire with an ended context = %v", err)
		}
	})
}

// A run that was evicted learns why, even if the job has been forgotten since.
func TestForgetKeepsTheReasonOfAnEviction(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		evicted := w.acquire(beside(w.tick(1)))
		if _, err := w.l.Evict(w.Context(), "job", 0, "stuck"); err != nil {
			w.Fatal(err)
		}
		w.release(w.acquire(w.tick(2)))
		if err := w.l.Forget(w.Context(), "job"); err != nil {
			w.Fatal(err)
		}
		err := evicted.Extend(w.Context())
		if why, ok := errors.AsType[*locking.EvictedError](err); !ok || why.Reason != "stuck" {
			w.Errorf("Extend = %v, want the reason of the eviction", err)
		}
	})
}
