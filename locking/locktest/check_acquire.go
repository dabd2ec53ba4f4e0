package locktest

import (
	"context"
	"errors"

	"github.com/quorate/quorate/locking"
)

// patient retries until the context ends.
func (b *bench) patient() locking.Retry {
	return locking.Retry{Tries: -1, Min: b.Short / 64, Max: b.Short / 4}
}

// hasty retries a few times.
func (b *bench) hasty() locking.Retry {
	return locking.Retry{Tries: 5, Min: b.Short / 64, Max: b.Short / 16}
}

func acquireOutwaitsALease(b *bench) {
	ctx, cancel := b.within()
	defer cancel()
	first := b.replica("a").acquire(b.short(b.plain()))
	second, err := locking.Acquire(ctx, b.replica("b"), b.plain(), b.patient())
	if err != nil {
		b.Fatalf("Acquire while a lease runs out = %v, want a lease", err)
	}
	b.larger(first, second)
}

func acquireGivesUp(b *bench) {
	a, other := b.replica("a"), steady{b.replica("b")}
	a.release(a.acquire(b.tick(2)))
	held := a.acquire(b.plain())
	_, err := locking.Acquire(b.Context(), other, b.plain(), b.hasty())
	if refused, ok := errors.AsType[*locking.AcquireError](err); !ok || !errors.Is(err, locking.ErrTaken) || refused.Holder != "a" {
		b.Errorf("Acquire of a held lock = %v, want ErrTaken by a", err)
	}
	a.release(held)
	ctx, cancel := b.within()
	defer cancel()
	for n, want := range map[int]error{1: locking.ErrSuperseded, 2: locking.ErrDone} {
		// Acquire returns before the context ends only if it knows that the refusal is
		// final.
		_, err := locking.Acquire(ctx, other, b.tick(n), b.patient())
		if !errors.Is(err, want) || errors.Is(err, context.DeadlineExceeded) {
			b.Errorf("Acquire of tick %d = %v, want %v at once", n, err, want)
		}
	}
}

func acquireEndsWithItsContext(b *bench) {
	a := b.replica("a")
	held := a.acquire(b.plain())
	ctx, cancel := context.WithTimeout(b.Context(), b.Short)
	defer cancel()
	lease, err := locking.Acquire(ctx, b.replica("b"), b.plain(), b.patient())
	if lease != nil || !errors.Is(err, context.DeadlineExceeded) {
		b.Fatalf("Acquire until its context ended = %v, %v, want no lease and %v", lease, err, context.DeadlineExceeded)
	}
	if _, ok := errors.AsType[*locking.AcquireError](err); !ok {
		b.Errorf("Acquire until its context ended = %v, want an *AcquireError too", err)
	}
	a.release(held)
	b.replica("c").eventually(b.plain())
}

func acquireOrExtendKeepsWhatIsHeld(b *bench) {
	ctx, cancel := b.within()
	defer cancel()
	a := b.replica("a")
	first := a.acquire(b.plain())
	end := first.Deadline()
	b.Wait(b.Short / 10)
	kept, err := locking.AcquireOrExtend(ctx, a, first, b.plain(), b.patient())
	if err != nil || kept != first || !kept.Deadline().After(end) {
		b.Errorf("AcquireOrExtend of a held lease = %v, %v, want the same lease with a later deadline", kept, err)
	}
	b.replica("b").refused(b.plain(), locking.ErrTaken)
}

func acquireOrExtendBeginsAnew(b *bench) {
	ctx, cancel := b.within()
	defer cancel()
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(b.short(b.plain()))
	second := other.eventually(b.plain())
	_, err := locking.AcquireOrExtend(ctx, steady{a}, first, b.plain(), b.hasty())
	if !errors.Is(err, locking.ErrTaken) {
		b.Fatalf("AcquireOrExtend while another works = %v, want ErrTaken", err)
	}
	other.release(second)
	third, err := locking.AcquireOrExtend(ctx, a, first, b.plain(), b.patient())
	if err != nil {
		b.Fatalf("AcquireOrExtend after another worked = %v, want a lease", err)
	}
	b.larger(second, third)
	b.cannotExtend("Extend of the lease before", first)
	other.refused(b.plain(), locking.ErrTaken)
	a.release(third)
	other.eventually(b.plain())
}
