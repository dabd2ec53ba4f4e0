package locktest

import (
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
