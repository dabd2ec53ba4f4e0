// Package redlock grants leases by a quorum of independent Redis masters. Its
// [locking.Locker] grants each tick at most once, with fencing tokens that only grow.
//
//	locks, err := redlock.Open(ctx, redlock.Config{Nodes: urls}) // or the clients that you have
//	err = locking.Do(ctx, locks, "invoices", func(ctx context.Context, claim locking.Claim) error { … })
//
// # Assumptions
//
// Tokens and once-per-tick need no assumption about time while nodes keep what they
// accepted. A node that may have lost it abstains for a grace; PROTOCOL.md says what
// that requires of the node's own clock. Wrong clocks of replicas and of other nodes
// only cost votes.
//
// # Not promised
//
//   - That a paused holder has stopped when its lease ends. Tokens protect against it.
//   - That any tick runs while fewer than a quorum of nodes answer.
//   - That a tick runs at all if its owner dies between the claim and the call of the
//     function, unless it was requested AtLeastOnce.
//
// # How a claim works
//
// PROTOCOL.md states every rule of the nodes (N…) and of the replicas (C…). A try has
// one random value v, one token t and one attempt number. Each rule is one script, so
// it is atomic on its node. Q of N nodes are a quorum.
//
//	try ──── LOCK v ────► locked ──── COMMIT v, t ────► issued: the job runs
//	  │    Q nodes: OK      │         Q nodes: OK         │  EXTEND v, every ttl/3
//	  ├── COMMIT v, t ──────┼─────────────────────────────┤
//	  ▼                     ▼                             ▼
//	VOID v: nothing is left, and another try may follow   FINISH v: the tick is done
//
// A replica that expects no competition sends COMMIT at once
// ([locking.Request].Direct). Others send LOCK first, which returns the nodes' numbers.
// After meeting another holder ([locking.Request].Waiting), a replica first sends LOOK
// to all nodes, and continues only if a quorum is free.
//
// Every round asks all nodes at once, and is over when its votes decide. Later answers
// are recorded: they say which nodes have the claim, or leftovers of a void try. FINISH
// and VOID go to a node after its answers to all earlier requests. Requests that nodes
// do not acknowledge in time are repeated in the background, see [Options].
//
// # What redsync decides
//
// One [redsync.Mutex] judges one try. It sends nothing: a round has asked all nodes before
// redsync asks its pools, and each pool answers with its node's vote once the round is over.
//
//	LockContext    whether a quorum accepted the first round, COMMIT or LOCK, within half a TTL
//	ExtendContext  whether a quorum accepted EXTEND
//	UnlockContext  whether a quorum accepted FINISH, or VOID of a lease that was never used
//	Until          when the lease ends, unless our own end is earlier: that also uses the
//	               wall clock, and is two milliseconds shorter
//
// Not redsync but this package decides: which rule is sent, how often and to which node, as
// a cancelled request may still take effect; when a round is over; LOOK, COMMIT after LOCK,
// and VOID after a failed COMMIT; why a node refused.
package redlock
