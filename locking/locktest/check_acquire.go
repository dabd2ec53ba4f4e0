package locktest

import (
	"context"
	"errors"
	"sync"

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

// named returns requests for plain locks of these names.
func (b *bench) named(names ...string) []locking.Request {
	var reqs []locking.Request
	for _, name := range names {
		req := b.plain()
		req.Name = lockName + "." + name
		reqs = append(reqs, req)
	}
	return reqs
}

// all acquires a group, which must succeed eventually.
func (r replica) all(reqs []locking.Request) *locking.Group {
	r.Helper()
	ctx, cancel := r.within()
	defer cancel()
	g, err := locking.AcquireAll(ctx, r, reqs, r.patient())
	if err != nil {
		r.Fatalf("%s: AcquireAll = %v, want a group", r.name, err)
	}
	return g
}

func groupIsAllOrNothing(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	held := a.acquire(b.named("2")[0])
	_, err := locking.AcquireAll(b.Context(), steady{other}, b.named("3", "1", "2"), b.hasty())
	refused, ok := errors.AsType[*locking.AcquireError](err)
	if !ok || !errors.Is(err, locking.ErrTaken) || refused.Name != held.Claim().Name {
		b.Fatalf("AcquireAll with one lock held = %v, want ErrTaken for %s", err, held.Claim().Name)
	}
	for _, req := range b.named("1", "3") {
		a.release(a.acquire(req))
	}
	a.release(held)
	g := other.all(b.named("3", "1", "2"))
	for i, req := range b.named("1", "2", "3") {
		if got := g.Leases()[i].Claim().Name; got != req.Name {
			b.Errorf("lease %d of the group is that of %s, want %s", i, got, req.Name)
		}
		a.refused(req, locking.ErrTaken)
	}
}

func groupEndsAsOne(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	reqs := b.named("1", "2")
	g := a.all(reqs)
	end := g.Deadline()
	for _, l := range g.Leases() {
		if l.Deadline().Before(end) {
			b.Errorf("the group's deadline %v is later than that of %s, %v", end, l.Claim().Name, l.Deadline())
		}
	}
	b.Wait(b.Short / 10)
	if err := b.extend(g); err != nil || !g.Deadline().After(end) {
		b.Errorf("Extend = %v, and the deadline moved from %v to %v", err, end, g.Deadline())
	}
	if err := g.Release(b.Context(), nil); err != nil {
		b.Errorf("Release = %v", err)
	}
	next := other.all(reqs)
	for i, l := range next.Leases() {
		b.larger(g.Leases()[i], l)
	}
	if err := next.Void(b.Context()); err != nil {
		b.Errorf("Void = %v", err)
	}
	for _, req := range reqs {
		a.acquire(req)
	}
}

// One lost lock of a group ends the right to work under all.
func groupIsLostAsOne(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	reqs := b.named("1", "2")
	reqs[1] = b.short(reqs[1])
	g := a.all(reqs)
	taken := other.eventually(b.named("2")[0])
	b.cannotExtend("Extend of a group with one lock lost", g)
	b.lost("Release of a group with one lock lost", g.Release(b.Context(), nil))
	other.refused(b.named("2")[0], locking.ErrTaken)
	other.release(taken)
	other.eventually(b.named("1")[0])
}

// Replicas ask for the same locks in any order.
func groupsDoNotDeadlock(b *bench) {
	const rounds = 3
	ctx, cancel := b.within()
	defer cancel()
	var wg sync.WaitGroup
	for i, names := range [][]string{{"1", "2"}, {"2", "1"}, {"2", "3", "1"}} {
		r := b.replica(string(rune('a' + i)))
		wg.Go(func() {
			for range rounds {
				g, err := locking.AcquireAll(ctx, r, b.named(names...), b.patient())
				if err != nil {
					b.Errorf("%s: AcquireAll(%v) = %v, want a group", r.name, names, err)
					return
				}
				if err := g.Release(b.Context(), nil); err != nil {
					b.Errorf("%s: Release = %v", r.name, err)
				}
			}
		})
	}
	wg.Wait()
}
