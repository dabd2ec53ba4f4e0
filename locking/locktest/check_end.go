package locktest

import (
	"errors"

	"github.com/quorate/quorate/locking"
)

// releaseAfterExpiry lets a lease run out, of which nobody else makes use: the
// holder learns that it had, and the tick is done all the same.
func releaseAfterExpiry(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	for _, req := range []locking.Request{b.tick(1), b.plain()} {
		lease := a.acquire(b.short(req))
		b.runOut(lease)
		for range 2 { // it says the same again
			if err := b.end(lease); !errors.Is(err, locking.ErrExpired) || errors.Is(err, locking.ErrLeaseLost) {
				b.Errorf("Release of a lease that had run out = %v, want ErrExpired", err)
			}
		}
		b.cannotExtend("Extend after Release", lease)
	}
	other.refused(b.tick(1), locking.ErrDone)
	other.release(other.acquire(b.tick(2)))
}

// expiredLeaseIsNotExtended: once the deadline has passed, somebody may have had the
// lock who left no trace, so the lease is over although nobody is known to have.
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

// end releases the lease, asking again a backend that did not answer in time.
func (b *bench) end(l locking.Lease) error {
	err := l.Release(b.Context(), []byte(`{"v":1}`))
	for n := 0; n < 3 && errors.Is(err, locking.ErrNoQuorum); n++ {
		b.Wait(b.Short / 4)
		err = l.Release(b.Context(), []byte(`{"v":1}`))
	}
	return err
}

// runOut waits until the lease has ended for the backend too.
func (b *bench) runOut(l locking.Lease) {
	b.Helper()
	for range 4 * tries {
		if locking.Left(l) == 0 {
			b.Wait(b.Short / 4) // what drift was taken off
			return
		}
		b.Wait(b.Short / 4)
	}
	b.Fatalf("a lease of %v never ran out", b.Short)
}

// releaseAfterVoid: a claim that was given back is not the holder's to finish.
func releaseAfterVoid(b *bench) {
	a := b.replica("a")
	lease := a.acquire(b.tick(1))
	a.void(lease)
	b.lost("Release after Void", lease.Release(b.Context(), nil))
	a.release(a.acquire(b.tick(1)))
}

// plainHolderIsNamed: whoever waits for a plain lock learns whom for.
func plainHolderIsNamed(b *bench) {
	lease := b.replica("a").acquire(b.plain())
	why := b.replica("b").refused(b.plain(), locking.ErrTaken)
	if why.Holder != "a" || why.HolderToken != lease.Claim().Token {
		b.Errorf("held by %q with token %d, want a with token %d", why.Holder, why.HolderToken, lease.Claim().Token)
	}
}
