package claims_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/locking"
)

// wasAhead is a world whose store has granted tokens an hour ahead of its clock.
func (w *world) wasAhead(names ...string) (granted []locking.Lease) {
	w.Helper()
	by := time.Hour
	l, err := claims.New(shifted{w.m, &by}, claims.Config{TTL: ttl, Grace: grace, Timeout: timeout})
	if err != nil {
		w.Fatal(err)
	}
	for _, name := range names {
		r := w.tick(1)
		r.Name = name
		lease, err := l.TryAcquire(w.Context(), r)
		if err != nil {
			w.Fatal(err)
		}
		w.release(lease)
		granted = append(granted, lease)
	}
	_ = l.Close()
	return granted
}

func (w *world) declareAhead() time.Time {
	w.Helper()
	until, err := claims.DeclareAhead(w.Context(), w.m, grace)
	if err != nil {
		w.Fatal(err)
	}
	return until
}

// A store whose clock was ahead says what its tokens and its clock show, and until when it
// grants nothing. Then it grants again.
func TestClockWasAhead(t *testing.T) {
	t.Parallel()
	inWorldOf(t, false, func(w *world) {
		before := w.wasAhead("job")[0]
		text := w.refused(w.tick(2), locking.ErrNodeAhead).Error()
		from := w.epoch.Add(time.Hour - grace/2 + time.Second).UTC().Truncate(time.Second)
		for _, want := range []string{"go up to 2000-01-01T01:00:00Z", "shows 2000-01-01T00:00:00Z", "before " + from.Format(time.RFC3339), "`quorate store init --ahead`"} {
			if !strings.Contains(text, want) {
				w.Errorf("%q lacks %q", text, want)
			}
		}
		time.Sleep(time.Until(from) - 3*time.Second)
		w.refused(w.tick(2), locking.ErrNodeAhead)
		time.Sleep(3 * time.Second)
		after := w.acquire(w.tick(2))
		w.larger(before, after)
	})
}

// An operator lets it go on from its tokens at once. Each name has larger tokens than before, once
// forgotten or never heard of as well, and ticks are as far from the clock as ever.
func TestGoingOnFromTheTokens(t *testing.T) {
	t.Parallel()
	inWorldOf(t, false, func(w *world) {
		granted := w.wasAhead("job", "other")
		if err := w.l.Forget(w.Context(), "other"); err != nil {
			w.Fatal(err)
		}
		w.declareAhead()
		w.declareAhead() // it may be repeated
		last := granted[0]
		for n := 2; n < 5; n++ {
			lease := w.acquire(w.tick(n))
			w.larger(last, lease)
			w.extends(lease)
			w.release(lease)
			last = lease
		}
		for _, name := range []string{"other", "third"} {
			r := w.tick(2)
			r.Name = name
			lease := w.acquire(r)
			w.larger(granted[1], lease)
			w.release(lease)
		}
		w.refused(w.tick(int(grace.Seconds())), locking.ErrFuture)
		w.refused(w.tick(1), locking.ErrSuperseded)
		time.Sleep(2 * time.Hour) // the clock has passed them
		lease := w.acquire(w.tick(7200))
		w.larger(last, lease)
		if got, clock := uint64(lease.Claim().Token)>>20, uint64(time.Now().Unix()); got != clock {
			w.Errorf("the token is of %d, want %d by the clock again", got, clock)
		}
	})
}

// Another incarnation may have forgotten tokens ahead of the clock. It grants none until its clock has
// passed them.
func TestAnotherIncarnationAfterTokensAhead(t *testing.T) {
	t.Parallel()
	for _, restored := range []bool{false, true} {
		inWorldOf(t, false, func(w *world) {
			w.wasAhead("job")
			until := w.declareAhead()
			backup := w.m.Backup()
			lost := w.acquire(w.tick(2))
			w.release(lost)
			w.m.Restore(backup)
			if restored {
				if err := claims.DeclareRestored(w.Context(), w.m, grace); err != nil {
					w.Fatal(err)
				}
			}
			w.refused(w.tick(3), locking.ErrUnvouched)
			if _, err := claims.DeclareAhead(w.Context(), w.m, grace); !errors.Is(err, locking.ErrRefused) || !strings.Contains(err.Error(), "forgotten") {
				w.Errorf("DeclareAhead = %v", err)
			}
			time.Sleep(time.Until(until) - time.Second)
			w.refused(locking.Request{Name: "job", Tick: time.Now()}, locking.ErrUnvouched)
			time.Sleep(2 * time.Second)
			w.larger(lost, w.acquire(locking.Request{Name: "job", Tick: time.Now()}))
		})
	}
}

// There is nothing to go on from unless tokens are ahead of the clock.
func TestNothingToGoOnFrom(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.release(w.acquire(w.tick(1)))
		if _, err := claims.DeclareAhead(w.Context(), w.m, grace); !errors.Is(err, locking.ErrRefused) {
			w.Errorf("DeclareAhead = %v, want %v", err, locking.ErrRefused)
		}
	})
}
