package locktest

import (
	"errors"

	"github.com/quorate/quorate/locking"
)

// beside is the request with Beside set.
func beside(req locking.Request) locking.Request {
	req.Beside = true
	return req
}

// Each run is extended and released independently, in any order, however many were
// claimed since.
func ticksRunBesideOneAnother(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(beside(b.tick(1)))
	second := other.acquire(beside(b.tick(2)))
	b.settle() // a node that the next claim reaches first accepts this one no more
	third := other.acquire(beside(manual(b.tick(1))))
	b.larger(first, second)
	b.larger(second, third)
	for _, lease := range []locking.Lease{first, second, third} {
		if !lease.Claim().Beside {
			b.Errorf("Claim = %+v, want it beside others", lease.Claim())
		}
		b.keeps(lease)
	}
	other.release(second)
	b.keeps(first)
	a.refused(beside(b.tick(2)), locking.ErrDone)
	a.refused(beside(b.tick(1)), locking.ErrSuperseded) // still in order
	a.release(first)
	a.release(first)
	b.keeps(third)
	other.release(third)
	a.refused(beside(manual(b.tick(1))), locking.ErrDone)
	a.refused(beside(b.tick(1)), locking.ErrSuperseded)
}

// A tick is claimed once, and a later one does not reopen it.
func oneRunPerTickBesideOthers(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(beside(b.tick(1)))
	other.refused(beside(b.tick(1)), locking.ErrClaimed, locking.ErrTaken)
	next := other.acquire(beside(b.tick(2)))
	other.refused(beside(b.tick(1)), locking.ErrSuperseded)
	a.void(first)
	other.refused(beside(b.tick(1)), locking.ErrSuperseded)
	other.void(next)
	again := a.acquire(beside(b.tick(2)))
	b.larger(next, again)
	if got := again.Claim().Attempt; got <= 1 {
		b.Errorf("claim after a voided one has attempt %d, want more than 1", got)
	}
}

// Requests with and without Beside wait for each other. One without may have to wait
// until the last of the others' leases would have expired.
func lockWaitsForOverlappingRuns(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first, second := a.acquire(beside(b.tick(1))), a.acquire(beside(b.tick(2)))
	other.refused(b.tick(3), locking.ErrTaken)
	a.release(second)
	other.refused(b.tick(3), locking.ErrTaken)
	other.refused(b.plain(), locking.ErrTaken)
	a.release(first)

	elsewhere := func(req locking.Request) locking.Request {
		req.Name += " too"
		return req
	}
	a.release(a.acquire(elsewhere(beside(b.short(b.tick(1))))))
	alone := other.eventually(elsewhere(b.tick(3)))
	why := a.refused(elsewhere(beside(b.tick(4))), locking.ErrTaken)
	if why.Holder != "b" {
		b.Errorf("Holder = %q, want b", why.Holder)
	}
	other.release(alone)
	a.release(a.acquire(elsewhere(beside(b.tick(4)))))
}

// An expired run is never revived after another claim.
func overlappingRunThatRanOutIsLost(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(beside(b.short(b.tick(1))))
	b.Wait(2 * b.Short)
	other.acquire(beside(b.tick(2)))
	b.cannotExtend("Extend of an overlapping run that ran out before a later tick was claimed", first)
	b.lost("Release of it", first.Release(b.Context(), nil))
	other.refused(beside(b.tick(1)), locking.ErrSuperseded)

	alone := a.acquire(beside(b.short(manual(b.tick(1)))))
	b.Wait(2 * b.Short)
	if err := alone.Release(b.Context(), nil); !errors.Is(err, locking.ErrExpired) {
		b.Errorf("Release after nothing else was claimed = %v, want ErrExpired", err)
	}
}

func endedOverlappingRunIsNotExtended(b *bench) {
	a := b.replica("a")
	first, second := a.acquire(beside(b.short(b.tick(1)))), a.acquire(beside(b.short(b.tick(2))))
	a.release(first)
	b.cannotExtend("Extend after Release", first)
	a.void(second)
	b.cannotExtend("Extend after Void", second)
	b.lost("Release after Void", second.Release(b.Context(), nil))
	a.release(a.eventually(b.tick(3)))
}

// Beside for a plain lock is a mistake.
func plainLocksAreHeldByOne(b *bench) { b.replica("a").mistaken(beside(b.plain())) }

// keeps extends a lease, which must succeed.
func (b *bench) keeps(lease locking.Lease) {
	b.Helper()
	if err := b.extend(lease); err != nil {
		b.Errorf("Extend of tick %v = %v", lease.Claim().Tick, err)
	}
}
