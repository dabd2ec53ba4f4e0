package locktest

import (
	"context"

	"github.com/quorate/quorate/locking"
)

func extendMovesTheDeadline(b *bench) {
	lease := b.replica("a").acquire(b.tick(1))
	end := lease.Deadline()
	for range 3 {
		b.Wait(b.Short / 10)
		if err := b.extend(lease); err != nil {
			b.Fatalf("Extend = %v", err)
		}
		moved := lease.Deadline()
		if !moved.After(end) {
			b.Errorf("Extend moved the deadline from %v to %v, want a later one", end, moved)
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
