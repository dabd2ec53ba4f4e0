package locktest

import (
	"errors"
	"slices"

	"github.com/quorate/quorate/locking"
)

// looks is how often a Watch is asked, enough for answers that need a quorum.
const looks = 9

// watched runs the check if the Locker is a Watcher.
func watched(run func(*bench)) func(*bench) {
	return func(b *bench) {
		b.Helper()
		if _, ok := b.replica("w").Locker.(locking.Watcher); !ok {
			b.Skip("the Locker is no Watcher")
		}
		run(b)
	}
}

// seen calls Look several times and returns all results.
func (r replica) seen(req locking.Request, start uint64) []error {
	w := r.Locker.(locking.Watcher).Watch(req, start)
	all := make([]error, looks)
	for i := range all {
		all[i] = answered(func() error { return w.Look(r.Context()) })
	}
	return all
}

// sees calls Look, starting at each of several nodes, until it returns want. Before
// that only nil and the errors in less are allowed. A nil want: only nil is allowed.
func (r replica) sees(req locking.Request, want error, less ...error) {
	r.Helper()
	_ = r.lastSeen(req, want, less...)
}

// lastSeen is sees, and returns the last error.
func (r replica) lastSeen(req locking.Request, want error, less ...error) (last *locking.AcquireError) {
	r.Helper()
	r.settle()
	for start := range uint64(3) {
		all := r.seen(req, start)
		before, i := all, slices.IndexFunc(all, func(err error) bool { return want != nil && errors.Is(err, want) })
		switch {
		case i >= 0: // nodes that have missed the claim may say less after this one
			_ = errors.As(all[i], &last)
			before = all[:i]
		case want != nil || all[looks-1] != nil:
			r.Errorf("Look(%s) says %v, want %v", describe(req), all, want)
		}
		for _, err := range before {
			if err != nil && !isOne(err, less) {
				r.Errorf("Look(%s) = %v, want %v", describe(req), err, want)
			}
		}
	}
	return last
}

func isOne(err error, of []error) bool {
	for _, reason := range of {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// Look does not block anyone, the caller included.
func lookChangesNothing(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	other.sees(b.tick(1), nil)
	lease := a.acquire(b.tick(1))
	other.sees(b.tick(1), locking.ErrClaimed, locking.ErrTaken)
	b.keeps(lease)
	a.release(lease)
	other.sees(b.tick(1), locking.ErrDone)
	other.sees(b.tick(2), nil)
	other.release(other.acquire(b.tick(2)))
	other.sees(b.tick(1), nil) // superseded: only TryAcquire tells
}

// Look names the owner, even after the lease has expired.
func lookTellsWhoClaimed(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	claim := a.acquire(b.short(b.tick(1))).Claim()
	for range 2 {
		why := other.lastSeen(b.tick(1), locking.ErrClaimed, locking.ErrTaken)
		if why != nil && (why.Holder != "a" || why.HolderToken != claim.Token || why.Name != lockName) {
			b.Errorf("Look = %+v, want lock %s, holder a and token %d", why, lockName, claim.Token)
		}
		b.Wait(2 * b.Short)
	}
}

// A voided tick, and one whose rerun may begin.
func lookTellsWhatIsFree(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	a.void(a.acquire(b.tick(1)))
	other.sees(b.tick(1), nil)
	a.acquire(again(b.short(b.tick(2))))
	other.sees(again(b.tick(2)), locking.ErrTaken)
	b.Wait(2 * b.Short)
	other.sees(again(b.tick(2)), nil)
	other.release(other.eventually(again(b.tick(2))))
	a.sees(again(b.tick(2)), locking.ErrDone)
}

// Another tick's lease blocks, unless both have Beside.
func lookTellsWhoIsInTheWay(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	lease := a.acquire(b.tick(1))
	why := other.lastSeen(b.tick(2), locking.ErrTaken)
	if why != nil && (why.Holder != "a" || why.Until.Before(lease.Deadline())) {
		b.Errorf("Look = %v, want holder a and until %v or later", why, lease.Deadline())
	}
	other.sees(b.plain(), locking.ErrTaken)
	a.release(lease)
	running := a.acquire(beside(b.tick(2)))
	other.sees(beside(b.tick(3)), nil)
	other.sees(beside(b.tick(2)), locking.ErrClaimed, locking.ErrTaken)
	other.sees(b.tick(3), locking.ErrTaken)
	a.release(running)
}

// A request in one round is granted and refused like one in two rounds, and the two
// mix.
func directClaimIsAClaim(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	first := a.acquire(direct(b.tick(1)))
	if got := first.Claim(); got.Attempt != 1 || !got.Tick.Equal(b.tick(1).Tick) || got.Votes.Of > 0 && 2*got.Votes.For <= got.Votes.Of {
		b.Errorf("Claim = %+v, want attempt 1, the tick and a majority of votes", got)
	}
	b.keeps(first)
	other.refused(direct(b.tick(1)), locking.ErrClaimed, locking.ErrTaken)
	other.refused(b.tick(2), locking.ErrTaken)
	other.refused(direct(b.tick(2)), locking.ErrTaken)
	a.release(first)
	for _, req := range []locking.Request{b.tick(1), direct(b.tick(1))} {
		other.refused(req, locking.ErrDone)
	}
	second := other.acquire(b.tick(2))
	b.larger(first, second)
	a.refused(direct(b.tick(1)), locking.ErrSuperseded, locking.ErrDone)
	other.void(second)
	third := a.acquire(direct(b.tick(2))) // its first token is not above the second's
	b.larger(second, third)
	if got := third.Claim().Attempt; got <= 1 {
		b.Errorf("claim after a voided one has attempt %d, want more than 1", got)
	}
	a.release(third)
	b.directClaimsOfOtherKinds(third)
}

// Reruns, overlapping runs, and plain locks.
func (b *bench) directClaimsOfOtherKinds(last locking.Lease) {
	a, other := b.replica("a"), b.replica("b")
	a.acquire(direct(again(b.short(b.tick(3)))))
	rerun := other.eventually(direct(again(b.tick(3))))
	b.larger(last, rerun)
	if got := rerun.Claim().Attempt; got < 2 {
		b.Errorf("rerun has attempt %d, want more than 1", got)
	}
	other.release(rerun)
	a.release(a.acquire(direct(b.plain())))
	one, two := a.acquire(direct(beside(b.tick(4)))), other.acquire(direct(beside(b.tick(5))))
	b.larger(one, two)
	b.keeps(one)
	a.release(one)
	other.release(two)
}

// direct is the request in one round.
func direct(req locking.Request) locking.Request {
	req.Direct = true
	return req
}
