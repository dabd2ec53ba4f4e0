package locktest

import (
	"errors"
	"sync"

	"github.com/quorate/quorate/locking"
)

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
