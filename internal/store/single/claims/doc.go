// Package claims grants leases on one consistent store. Its [Locker] gives the promises and
// the answers of package redlock with a single node. Package protocol decides; this package
// reads the records of a name, and writes what a rule has changed.
//
// # Transactions
//
// Each transaction compares the versions of all records that its decision rests on, and the
// store's life. If it loses, the Locker reads and decides again.
//
//   - CLAIM compares the claims, the leases, the life record, and for a name without claims
//     what was forgotten. It writes the claims, the lease and the ledger's entry. A claim
//     that is granted despite a lease that has expired writes or deletes that lease, too.
//   - EXTEND compares and writes the lease alone: the lease is unchanged as long as no claim
//     that excludes its owner was granted.
//   - FINISH and VOID compare and write the claims, and write the entry. They leave the lease,
//     which counts only while its claim is open. A FINISH that decides without reading also
//     compares the lease.
//
// # Unknown outcomes
//
// An error of a commit leaves its outcome unknown. The next transaction of the same try
// settles it: of two that compare the same claims, one wins. If the try gives up first, VOID
// does so in the background: it writes the claims in any case, so a claim that is still under way loses.
//
// # Lives
//
// In a life that is new to the life record, no claim is granted until a grace has passed.
// Holders continue: an extension or an end that finds the claim missing adds it again,
// unless another one excludes it (rule C3: COMMIT with join).
//
// # Stores without a clock
//
// On a store without a clock a lease ends by observation. The Locker notes when it first saw
// the present version of a lease. The lease is free once that version has been seen, unchanged,
// for the lease's ttl and the drift, by the monotonic clock of this process: it was written
// before it was seen, and its holder counts from before it was written. The transaction
// compares the version, so an extension meanwhile makes it lose. Rules get the end that
// was computed so, and the local clock as that of the store.
//
//   - Sightings are kept for each Locker and are few: one for each lease. A Locker that has just
//     begun waits for a ttl. [Locker.Observe], called with each heartbeat, sees leases before
//     anybody contends for them.
//   - Ticks are decided by the claim, and tokens grow because each is above the stored fence.
//     A token is at least the local clock, but no token is refused as too large: a replica whose
//     clock is ahead must not stop the others.
//   - A tick too far ahead of the local clock is refused. That is a check of plausibility.
//   - An eviction is kept until its claim has ended or been replaced. Its time only bounds how
//     long the reason is known afterwards.
//   - Listings and FORGET judge leases by the time that the holder wrote: they assume that
//     clocks differ by at most half the grace. So a dead holder is listed that much longer.
//   - In another life, claims are granted after a grace and a half by the clock of the replica that
//     noticed it. This assumes as much of the clocks. Etcd and ZooKeeper begin another
//     life only when an operator restores a backup.
package claims
