// Package locking is the contract between whoever wants to work alone and
// whatever decides for a cluster who may.
//
// A [Locker] grants a [Lease]: the right to work under a name until a deadline,
// together with a fencing [Token]. The lease bounds in time how long two
// holders can overlap; it cannot exclude it, since a process may be paused at
// any instruction. The token can: it only grows, so a resource that remembers
// the largest token it has seen refuses whoever was paused too long.
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
//
// Not promised: that an expired holder has stopped. [Hold] ends the context of
// the work before the lease ends, by the local clocks; what a function does
// with an ended context is its own affair, and what a paused process does after
// it wakes is the token's.
package locking
