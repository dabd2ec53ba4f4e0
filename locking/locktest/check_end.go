package locktest

import (
	"errors"

	"github.com/quorate/quorate/locking"
)

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
