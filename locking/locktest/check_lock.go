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

func tokensGrow(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	last := a.acquire(b.tick(0))
	a.release(last)
	next := func(r replica, req locking.Request, end func(locking.Lease)) {
		b.Helper()
		lease := r.acquire(req)
		b.larger(last, lease)
		end(lease)
		last = lease
	}
	for n := 1; n <= 5; n++ {
		next(other, b.tick(n), other.void)
		next(a, b.tick(n), a.release)
	}
	next(other, b.plain(), other.release)
	next(a, b.tick(6), a.release)
}

func tokensGrowAcrossExpiry(b *bench) {
	first := b.replica("a").acquire(b.short(b.tick(1)))
	second := b.replica("b").eventually(b.short(b.tick(2)))
	b.larger(first, second)
	b.larger(second, b.replica("a").eventually(b.tick(3)))
}

// extendMovesTheDeadline wants three extensions that move the deadline. An extension that took longer than the pause
// before it may leave the deadline as it was: on a busy machine the time until the store answers is taken off the lease.
func extendMovesTheDeadline(b *bench) {
	lease := b.replica("a").acquire(b.tick(1))
	end, pause := lease.Deadline(), b.Short/10
	for quick, n := 0, 0; quick < 3; n++ {
		if n == tries {
			b.Fatalf("only %d of %d extensions took less than %v", quick, n, pause)
		}
		b.Wait(pause)
		began := time.Now()
		if err := b.extend(lease); err != nil {
			b.Fatalf("Extend = %v", err)
		}
		inTime := time.Since(began) < pause
		moved := lease.Deadline()
		if moved.Before(end) || inTime && !moved.After(end) {
			b.Errorf("Extend moved the deadline from %v to %v, want a later one", end, moved)
		}
		if inTime {
			quick++
		}
		end = moved
	}
	if why := b.replica("b").refused(b.tick(2), locking.ErrTaken); why.Until.Before(end) {
		b.Errorf("others wait until %v, the holder works until %v", why.Until, end)
	}
}

func extendWithoutTimeLeavesTheDeadline(b *bench) {
	lease := b.replica("a").acquire(b.tick(1))
	end := lease.Deadline()
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	b.Wait(b.Short / 10)
	if err := lease.Extend(ctx); err == nil {
		b.Error("Extend under a cancelled context = nil, want an error")
	}
	if got := lease.Deadline(); !got.Equal(end) {
		b.Errorf("a failed Extend moved the deadline from %v to %v", end, got)
	}
}

func extendAfterTakeoverIsLost(b *bench) {
	lease := b.replica("a").acquire(b.short(b.tick(1)))
	next := b.replica("b").eventually(b.tick(2))
	b.cannotExtend("Extend while another works", lease)
	b.replica("b").release(next)
	b.cannotExtend("Extend after another worked", lease)
	b.replica("c").acquire(b.tick(3))
}

func endedLeaseIsNotExtended(b *bench) {
	a := b.replica("a")
	lease := a.acquire(b.tick(1))
	a.release(lease)
	b.cannotExtend("Extend after Release", lease)
	lease = a.acquire(b.tick(2))
	a.void(lease)
	b.cannotExtend("Extend after Void", lease)
	a.acquire(b.tick(3))
}

func releaseTwice(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	lease := a.acquire(b.tick(1))
	a.release(lease)
	a.release(lease)
	a.refused(b.tick(1), locking.ErrDone)
	other.acquire(b.tick(2))
	_ = lease.Release(b.Context(), nil) // must not free the lock of the next
	a.refused(b.tick(3), locking.ErrTaken)
}

func releaseAfterTakeoverIsLost(b *bench) {
	lease := b.replica("a").acquire(b.short(b.tick(1)))
	next := b.replica("b").eventually(b.tick(2))
	b.lost("Release while another works", lease.Release(b.Context(), nil))
	b.replica("a").refused(b.tick(3), locking.ErrTaken)
	b.replica("b").release(next)
}

func plainLockExcludes(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	var last locking.Lease
	for range 3 {
		lease := a.acquire(b.plain())
		if why := other.refused(b.plain(), locking.ErrTaken); why.Until.Before(lease.Deadline()) {
			b.Errorf("Until = %v, before the holder's deadline %v", why.Until, lease.Deadline())
		}
		if last != nil {
			b.larger(last, lease)
		}
		last = lease
		a.release(lease)
	}
	lease := other.acquire(b.plain())
	b.larger(last, lease)
	other.void(lease)
	a.release(a.acquire(b.plain()))
}

func plainLockRunsOut(b *bench) {
	first := b.replica("a").acquire(b.short(b.plain()))
	second := b.replica("b").eventually(b.plain())
	b.larger(first, second)
	b.cannotExtend("Extend by the former holder", first)
	_ = first.Release(b.Context(), nil) // must not free the lock of the next
	b.replica("c").refused(b.plain(), locking.ErrTaken)
}

// A lease expires, but no one else claims anything: the holder learns of the expiry,
// and the tick is done.
func releaseAfterExpiry(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	for _, req := range []locking.Request{b.tick(1), b.plain()} {
		lease := a.acquire(b.short(req))
		b.runOut(lease)
		for range 2 { // later calls return the same
			if err := b.end(lease); !errors.Is(err, locking.ErrExpired) || errors.Is(err, locking.ErrLeaseLost) {
				b.Errorf("Release of a lease that had run out = %v, want ErrExpired", err)
			}
		}
		b.cannotExtend("Extend after Release", lease)
	}
	other.refused(b.tick(1), locking.ErrDone)
	other.release(other.acquire(b.tick(2)))
}

// After the deadline, another may have had the lock without leaving a trace. So the
// lease is over even if no one is known to have had it.
func expiredLeaseIsNotExtended(b *bench) {
	a := b.replica("a")
	for _, req := range []locking.Request{b.tick(1), b.plain()} {
		lease := a.acquire(b.short(req))
		b.runOut(lease)
		b.cannotExtend("Extend after the deadline", lease)
		if err := b.end(lease); !errors.Is(err, locking.ErrExpired) {
			b.Errorf("Release after Extend of a lease that had run out = %v, want ErrExpired", err)
		}
	}
}

// end releases the lease, and retries if the backend did not answer in time.
func (b *bench) end(l locking.Lease) error {
	err := l.Release(b.Context(), []byte(`{"v":1}`))
	for n := 0; n < 3 && errors.Is(err, locking.ErrNoQuorum); n++ {
		b.Wait(b.Short / 4)
		err = l.Release(b.Context(), []byte(`{"v":1}`))
	}
	return err
}

// runOut waits until the lease has expired on the backend too.
func (b *bench) runOut(l locking.Lease) {
	b.Helper()
	for range 4 * tries {
		if locking.Left(l) == 0 {
			b.Wait(b.Short / 4) // the drift taken off the deadline
			return
		}
		b.Wait(b.Short / 4)
	}
	b.Fatalf("a lease of %v never ran out", b.Short)
}

// A holder cannot finish a claim that it gave back.
func releaseAfterVoid(b *bench) {
	a := b.replica("a")
	lease := a.acquire(b.tick(1))
	a.void(lease)
	b.lost("Release after Void", lease.Release(b.Context(), nil))
	a.release(a.acquire(b.tick(1)))
}

// A refusal names the holder of a plain lock.
func plainHolderIsNamed(b *bench) {
	lease := b.replica("a").acquire(b.plain())
	why := b.replica("b").refused(b.plain(), locking.ErrTaken)
	if why.Holder != "a" || why.HolderToken != lease.Claim().Token {
		b.Errorf("held by %q with token %d, want a with token %d", why.Holder, why.HolderToken, lease.Claim().Token)
	}
}
