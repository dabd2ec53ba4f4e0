package locktest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
)

func claimSaysWhatWasGranted(b *bench) {
	req, before := b.tick(1), time.Now()
	lease := b.replica("a").acquire(req)
	after, got := time.Now(), lease.Claim()
	if got.Name != req.Name || !got.Tick.Equal(req.Tick) || got.Attempt != 1 || got.Token == 0 {
		b.Errorf("Claim = %+v, want name %s, tick %v, attempt 1 and a token", got, req.Name, req.Tick)
	}
	if v := got.Votes; v != (locking.Votes{}) && (2*v.For <= v.Of || v.For > v.Of) {
		b.Errorf("Votes = %d of %d, want a majority, or zero without nodes", got.Votes.For, got.Votes.Of)
	}
	if got.Granted.Before(before) || got.Granted.After(after) {
		b.Errorf("Granted = %v, want a time between %v and %v", got.Granted, before, after)
	}
	end := lease.Deadline()
	if end.After(after.Add(req.TTL)) || !end.After(before) {
		b.Errorf("Deadline = %v, want it within the TTL of %v from %v", end, req.TTL, before)
	}
	if monotonic(after) && !monotonic(end) { // there is none in virtual time
		b.Errorf("Deadline = %v, want a monotonic reading", end)
	}
}

// monotonic reports whether t carries a reading of the monotonic clock.
func monotonic(t time.Time) bool { return strings.Contains(t.String(), " m=") }

func heldLockIsTaken(b *bench) {
	lease := b.replica("a").acquire(b.tick(1))
	for _, req := range []locking.Request{b.tick(2), again(b.tick(2)), again(b.tick(3))} {
		why := b.replica("b").refused(req, locking.ErrTaken)
		if why.Holder != "a" {
			b.Errorf("Holder = %q, want a", why.Holder)
		}
		if end := lease.Deadline(); why.Until.Before(end) {
			b.Errorf("Until = %v, before the holder's deadline %v", why.Until, end)
		}
		if latest := time.Now().Add(b.Long + b.Long/20); why.Until.After(latest) {
			b.Errorf("Until = %v, more than a TTL and the drift of clocks ahead (%v)", why.Until, latest)
		}
	}
	b.replica("b").refused(b.tick(1), locking.ErrClaimed, locking.ErrTaken)
}

// A refused attempt must not take the lock: no caller waits here, so the next first
// attempt must be granted.
func refusedAttemptLeavesNothing(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	held := a.acquire(b.tick(2))
	other.refused(b.tick(3), locking.ErrTaken)
	other.refused(b.tick(1), locking.ErrSuperseded)
	a.release(held)
	other.refused(b.tick(2), locking.ErrDone)
	other.refused(b.tick(1), locking.ErrSuperseded)
	a.release(a.acquire(b.tick(3)))
}

func cancelledAttemptLeavesNothing(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	gone, cancel := context.WithCancel(b.Context())
	cancel()
	b.abandon(gone, a, b.tick(0))
	for n := 1; n <= 10; n++ {
		// The attempt and the end of its context race; both results are fine.
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			cancel()
		}()
		b.abandon(ctx, a, b.tick(n))
		<-done
	}
	other.release(other.eventually(b.tick(11)))
}

// abandon makes an attempt under a context that is ending.
func (b *bench) abandon(ctx context.Context, r replica, req locking.Request) {
	b.Helper()
	req.Holder = r.name
	lease, err := r.TryAcquire(ctx, req)
	if err == nil {
		r.void(lease)
		return
	}
	var why *locking.AcquireError
	if !errors.As(err, &why) || !errors.Is(err, context.Canceled) {
		b.Errorf("TryAcquire under a cancelled context = %v, want an *AcquireError joined with context.Canceled", err)
	}
}

func namesAreIndependent(b *bench) {
	a := b.replica("a")
	a.acquire(b.tick(2))
	other := b.tick(1)
	other.Name = lockName + ".other"
	a.release(a.acquire(other))
	b.replica("b").refused(b.tick(3), locking.ErrTaken)
}
