package locktest

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
)

func releasedTickIsDone(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	a.release(a.acquire(b.tick(1)))
	a.refused(b.tick(1), locking.ErrDone)
	other.refused(b.tick(1), locking.ErrDone)
	a.release(a.acquire(again(b.tick(2))))
	other.refused(again(b.tick(2)), locking.ErrDone)
}

func laterTickClosesEarlier(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	lease := a.acquire(b.tick(2))
	other.refused(b.tick(1), locking.ErrSuperseded)
	a.release(lease)
	other.refused(b.tick(1), locking.ErrSuperseded)
	other.refused(again(b.tick(1)), locking.ErrSuperseded)
}

func atMostOnceOutlivesTheLease(b *bench) {
	b.replica("a").acquire(b.short(b.tick(1)))
	for range 4 {
		b.replica("b").refused(b.tick(1), locking.ErrClaimed, locking.ErrTaken)
		b.Wait(b.Short)
	}
	b.replica("b").refused(b.tick(1), locking.ErrClaimed)
	b.replica("b").eventually(b.tick(2))
}

func atLeastOnceIsClaimedAgain(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(again(b.short(b.tick(1))))
	second := other.eventually(again(b.tick(1)))
	b.larger(first, second)
	if got := second.Claim().Attempt; got != 2 {
		b.Errorf("second claim has attempt %d, want 2", got)
	}
	// The first owner wakes up.
	b.cannotExtend("Extend by the former owner", first)
	b.lost("Release by the former owner", first.Release(b.Context(), nil))
	// A node that did not know the second claim may have accepted the end of the first.
	b.replica("c").refused(again(b.tick(1)), locking.ErrTaken, locking.ErrDone)
	other.release(second)
	a.refused(again(b.tick(1)), locking.ErrDone)
}

func handedOverIsClaimedAgain(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(again(b.tick(1)))
	a.handOver(first)
	second := other.acquire(again(b.tick(1))) // at once
	b.larger(first, second)
	if got := second.Claim().Attempt; got != 2 {
		b.Errorf("second claim has attempt %d, want 2", got)
	}
	b.cannotExtend("Extend by the former owner", first)
	a.handOver(first) // repeating it is harmless
	// A node that did not know the second claim may have accepted the end of the first.
	b.replica("c").refused(again(b.tick(1)), locking.ErrTaken, locking.ErrDone)
	other.release(second)
	a.refused(again(b.tick(1)), locking.ErrDone)
}

func handedOverIsNotFree(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	a.handOver(a.acquire(b.tick(1)))
	other.refused(b.tick(1), locking.ErrClaimed)
	other.refused(again(b.tick(1)), locking.ErrClaimed)
	a.handOver(a.acquire(again(b.tick(2)))) // the lock is free
	other.refused(b.tick(2), locking.ErrClaimed)
	other.release(other.acquire(b.tick(3)))
}

func stricterModeCounts(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	a.acquire(b.short(b.tick(1)))
	b.Wait(2 * b.Short)
	other.refused(again(b.tick(1)), locking.ErrClaimed)
	other.eventually(again(b.short(b.tick(2))))
	b.Wait(2 * b.Short)
	a.refused(b.tick(2), locking.ErrClaimed)
	a.eventually(again(b.tick(2)))
}

func voidedTickIsFree(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(b.tick(1))
	a.void(first)
	second := other.acquire(b.tick(1))
	b.larger(first, second)
	if got := second.Claim().Attempt; got <= 1 {
		b.Errorf("claim after a voided one has attempt %d, want more than 1", got)
	}
	// A late second Void must not touch the next claim.
	a.void(first)
	a.refused(b.tick(1), locking.ErrClaimed, locking.ErrTaken)
	other.release(second)
	a.refused(b.tick(1), locking.ErrDone)
}

func voidKeepsEarlierTicksClosed(b *bench) {
	a := b.replica("a")
	a.void(a.acquire(b.tick(2)))
	b.replica("b").refused(b.tick(1), locking.ErrSuperseded)
}

func voidAfterReleaseChangesNothing(b *bench) {
	a := b.replica("a")
	lease := a.acquire(b.tick(1))
	a.release(lease)
	_ = lease.Void(b.Context()) // a misuse; the tick must stay done
	b.replica("b").refused(b.tick(1), locking.ErrDone)
}

// Replicas compete for the same ticks. Each retries until it knows the tick's result.
func oneOfManyClaims(b *bench) {
	const competitors, ticks = 8, 5
	var last locking.Lease
	for n := range ticks {
		won := make([]locking.Lease, competitors)
		errs := make([]error, competitors)
		var wg sync.WaitGroup
		for i := range competitors {
			r := b.replica(string(rune('a' + i)))
			wg.Go(func() { won[i], errs[i] = r.compete(b.tick(n), i) })
		}
		wg.Wait()
		var winner locking.Lease
		for i, lease := range won {
			if lease == nil {
				continue
			}
			if winner != nil {
				b.Fatalf("tick %d was granted twice, the second time to competitor %d", n, i)
			}
			winner = lease
		}
		if winner == nil {
			b.Fatalf("tick %d was granted to nobody: %v", n, errs)
		}
		if last != nil {
			b.larger(last, winner)
		}
		last = winner
		if err := winner.Release(b.Context(), nil); err != nil {
			b.Fatalf("Release = %v", err)
		}
	}
}

// compete retries until the tick is granted or can no longer be. Different pauses keep
// competitors from splitting the votes forever.
func (r replica) compete(req locking.Request, rank int) (lease locking.Lease, err error) {
	for range tries {
		lease, err = r.try(req)
		if err == nil || final(err) {
			return lease, err
		}
		r.Wait(time.Duration(rank+1) * r.Short / 32)
	}
	return nil, err
}

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
