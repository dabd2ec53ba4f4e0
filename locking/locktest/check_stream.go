package locktest

import (
	"errors"
	"strings"

	"github.com/quorate/quorate/locking"
)

// manual is the request in the stream "manual".
func manual(req locking.Request) locking.Request {
	req.Stream = "manual"
	return req
}

// Each stream has its own latest tick.
func streamsAreApart(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	a.release(a.acquire(b.tick(2)))
	lease := other.acquire(manual(b.tick(1)))
	if got := lease.Claim(); got.Stream != "manual" || got.Attempt != 1 {
		b.Errorf("Claim = %+v, want the stream manual and attempt 1", got)
	}
	other.release(lease)
	other.release(other.acquire(manual(b.tick(2))))
	a.refused(b.tick(1), locking.ErrSuperseded)
	a.refused(b.tick(2), locking.ErrDone)
	// A node that does not know the later claim may say that the tick is done.
	a.refused(manual(b.tick(1)), locking.ErrSuperseded, locking.ErrDone)
	a.refused(manual(b.tick(2)), locking.ErrDone)
	a.void(a.acquire(manual(b.tick(5))))
	a.release(a.acquire(b.tick(3)))
	a.release(a.acquire(manual(b.tick(5))))
	// The empty stream is that of the schedule.
	scheduled := b.tick(3)
	scheduled.Stream = locking.StreamSchedule
	a.refused(scheduled, locking.ErrDone)
}

// Only one holder of a name works at a time, whatever the streams.
func streamsShareTheLock(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	held := a.acquire(b.tick(1))
	other.refused(manual(b.tick(1)), locking.ErrTaken)
	a.release(held)
	held = other.acquire(manual(b.tick(1)))
	a.refused(b.tick(2), locking.ErrTaken)
	other.release(held)

	// This also holds after a lease has expired.
	first := a.acquire(b.short(manual(b.tick(2))))
	other.eventually(b.tick(2))
	b.cannotExtend("Extend after a claim of another stream", first)
	b.lost("Release after a claim of another stream", first.Release(b.Context(), nil))
}

func streamsShareTheTokens(b *bench) {
	a := b.replica("a")
	last := a.acquire(b.tick(0))
	a.release(last)
	for n := range 3 {
		for _, req := range []locking.Request{manual(b.tick(n)), b.tick(n + 1)} {
			next := a.acquire(req)
			b.larger(last, next)
			a.release(next)
			last = next
		}
	}
}

// A request with an invalid stream is a mistake, not a refusal.
func streamIsNamedWell(b *bench) {
	a := b.replica("a")
	for _, name := range []string{"lock", "Manual", "by hand", "a.b", "a|b", "a:b", strings.Repeat("x", 33)} {
		req := b.tick(1)
		req.Stream = name
		a.mistaken(req)
	}
	a.mistaken(manual(b.plain()))
}

// mistaken makes one attempt, which must fail without an *AcquireError.
func (r replica) mistaken(req locking.Request) {
	r.Helper()
	lease, err := r.try(req)
	if lease != nil {
		r.Errorf("TryAcquire with stream %q was granted", req.Stream)
		r.release(lease)
	}
	if why, refused := errors.AsType[*locking.AcquireError](err); err == nil || refused {
		r.Errorf("TryAcquire with stream %q = %v, want an error that is no *AcquireError (%v)", req.Stream, err, why)
	}
}
