// Package locking is the contract between whoever wants to work alone and
// whatever decides for a cluster who may, and what a program does with it.
//
// A [Locker] grants a [Lease]: the right to work under a name until a deadline,
// together with a fencing [Token]. The lease bounds in time how long two
// holders can overlap; it cannot exclude it, since a process may be paused at
// any instruction. The token can: it only grows, so a resource that remembers
// the largest token it has seen refuses whoever was paused too long.
//
// # Acquire, keep, release
//
//	lease, err := locking.Acquire(ctx, locker, req, locking.Retry{})  // or locker.TryAcquire, once
//	if err != nil {
//		return err // an *AcquireError: taken by whom until when, a split vote, no quorum and why, too late
//	}
//	k := locking.Keep(ctx, lease, locking.HoldConfig{Every: ttl / 3, Margin: ttl / 10})
//	err = work(k.Context(), lease.Claim().Token) // ends with a cause before the lease does
//	k.Stop()
//	return errors.Join(err, lease.Release(context.WithoutCancel(ctx), nil))
//
// [Hold] is Keep and Stop around one function. [AcquireOrExtend] is for who
// comes back to a lease now and then; a new token tells that others may have
// worked in between. [AcquireAll] acquires several locks in one order, all or
// none; Hold and Keep take the [Group] like a lease. [Left] is the validity
// left. Not one of these knows what a node is: they work with every Locker.
//
// # Ticks
//
// A request may name a tick, the scheduled instant of a job. Then the Locker
// also remembers which tick was claimed last and whether it was finished, so
// that a tick is run once even after its lease is over.
//
// What every Locker promises, and package locktest checks:
//
//   - No two leases of a name carry the same token, and a lease asked for after
//     another was granted carries a larger one.
//   - A tick requested AtMostOnce is granted once, unless its lease was voided
//     before any work began. A released tick is never granted again, and no
//     tick is granted after a later one was.
//   - Deadline is never later than what the other replicas wait for.
//   - A failed attempt keeps nobody else out.
//   - Release tells a lease that was held until then, one that had run out, and
//     one that is another's.
//
// A [Watcher] also tells what became of a tick for the price of a question to
// one node; whoever wants to know before it competes asks it.
//
// # The end of the right to work
//
// The context of [Hold] and of a [Keeper] ends by the local clocks, a margin
// before the lease does, whatever an extension under way may still say. Its
// cause, and what Extend and Release return, match [ErrLeaseLost]: because a
// quorum stayed away or others have the lock; [ErrMaxHold], because of
// HoldConfig.MaxHold; an [*EvictedError], because an operator has taken the lock
// away. [ErrExpired] does not match it: Release closed the claim, late.
//
// Not promised: that an expired holder has stopped. What a function does with
// an ended context is its own affair, and what a paused process does after it
// wakes is the token's; see package fence.
package locking
