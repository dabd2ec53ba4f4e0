// Package claims grants leases on one consistent store. Its [Locker] gives the promises and
// the answers of package redlock with a single node. Package rules decides; this package
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
package claims
