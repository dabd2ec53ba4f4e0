// Package locking grants one worker in a cluster the right to work under a name. It
// defines the contract that backends implement, and helpers that work with every
// backend.
//
// A [Locker] grants a [Lease]: the right to work under a name until a deadline. The
// lease comes with a fencing [Token], which only grows. A lease bounds how long two
// holders can overlap, but cannot rule it out: a process may be paused at any
// instruction. A resource that remembers the largest token can: it refuses writes from
// a holder that was paused too long.
//
// # Acquire, keep, release
//
//	err := locking.Do(ctx, locker, "stock", func(ctx context.Context, claim locking.Claim) error {
//		return work(ctx, claim.Token) // ctx ends with a cause before the lease does
//	})
//
// The parts of [Do] can also be used alone:
//
//   - [Acquire] retries until it gets the lock; TryAcquire tries once. An
//     [*AcquireError] says why a lock was not granted.
//   - [Keep] extends the lease while the work runs.
//   - [AcquireOrExtend] returns to a lease from time to time. A new token means that
//     others may have worked in between.
//   - [AcquireAll] acquires several locks, all or none, as a [Group] that Keep accepts.
//   - [Left] is the validity left.
//
// # Ticks
//
// A request may name a tick, the scheduled time of a job. The Locker then remembers
// the tick claimed last and whether it was finished, so a tick runs once even after
// its lease has ended.
//
// Every Locker promises the following; package locktest checks it:
//
//   - No two leases of a name carry the same token. A lease requested after another
//     was granted carries a larger one.
//   - A tick requested AtMostOnce is granted once, unless its lease was voided before
//     any work began. A released tick is never granted again. No tick is granted
//     after a later one was.
//   - Deadline is never later than the time until which other replicas wait.
//   - A failed attempt does not block others.
//   - Release distinguishes a lease that was held until then, one that had expired,
//     and one that was lost to another holder.
//
// A [Watcher] also tells, with one request to one node, the state of a tick.
//
// # The end of the right to work
//
// The context of [Do] and of a [Keeper] ends by the local clocks, a margin before the
// lease does, even while an extension is in flight. Its cause, and the errors of
// Extend and Release, match [ErrLeaseLost]. The cause is [ErrMaxHold] when
// KeepConfig.MaxHold was reached, and an [*EvictedError] when an operator released the
// lock. [ErrExpired] does not match ErrLeaseLost: Release closed the claim, but late.
//
// Not promised: that an expired holder has stopped. A function may ignore an ended
// context, and a paused process may continue when it wakes. Tokens protect against
// both; see package fence.
package locking
