package locktest

import (
	"context"
	"errors"

	"github.com/quorate/quorate/locking"
)

func (b *bench) holding() locking.KeepConfig {
	return locking.KeepConfig{Every: b.Short / 5, Margin: b.Short / 10}
}

// A Keeper keeps a lease for several TTLs. On a machine too busy for that the lease is
// lost, which proves nothing.
func keeperOutlivesTheTTL(b *bench) {
	lease := b.replica("a").acquire(b.short(b.plain()))
	k := locking.Keep(b.Context(), lease, b.holding())
	defer k.Stop()
	for range 2 {
		b.Wait(b.Short)
		next, err := b.replica("b").try(b.plain())
		if err == nil && locking.Left(lease) > 0 {
			b.Fatalf("token %d was granted while that with %d was kept", next.Claim().Token, lease.Claim().Token)
		}
		if err == nil || k.Context().Err() != nil {
			return
		}
	}
	k.Stop()
	_ = b.end(lease)
	b.replica("b").eventually(b.plain())
}

// MaxHold bounds a lease whose work ignores its context.
func maxHoldFreesTheLock(b *bench) {
	lease := b.replica("a").acquire(b.short(b.plain()))
	cfg := b.holding()
	cfg.MaxHold = 3 * b.Short
	k := locking.Keep(b.Context(), lease, cfg)
	defer k.Stop()
	b.larger(lease, b.replica("b").eventually(b.plain())) // k was not stopped
	for range tries {
		if k.Context().Err() != nil {
			break
		}
		b.Wait(b.Short / 4)
	}
	if cause := context.Cause(k.Context()); !errors.Is(cause, locking.ErrLeaseLost) {
		b.Errorf("another holds the lock, and the context ended with %v, want ErrMaxHold", cause)
	}
}
