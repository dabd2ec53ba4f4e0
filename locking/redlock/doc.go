// Package redlock grants leases by a quorum of independent Redis masters: a
// [locking.Locker] whose claims of ticks are never given twice, with fencing
// tokens that only grow.
//
// # The way of a claim
//
// An attempt is one try of one replica to run one tick T of a job. It is known
// by a random value v that nobody else ever uses. Every rule below is one
// script, so it is atomic on its node; Q nodes of N make a quorum.
//
//	            ACQUIRE v, T                COMMIT v, T, t
//	attempt ───────────────────► locked ───────────────────► issued
//	   │       Q nodes: OK          │       Q nodes: OK        │
//	   │                            │       for the same t     │ the job runs;
//	   │ too few, too late          │ given up                 │ EXTEND v, t
//	   ▼                            ▼                          ▼ every ttl/3
//	ABORT v                      VOID v ◄──── never began ─── lease
//	the lock is freed            T is free for others,         │
//	                             older ticks stay closed       │ FINISH v, t
//	                                                           ▼
//	                                                         done: T is never
//	                                                         granted again
//
// ACQUIRE, round 1, sets the job's lock on each node for one ttl. The lock only
// keeps attempts out of each other's way. A node refuses when it holds a later
// tick, when T is done or claimed, when somebody else has the lock, when it
// restarted so recently that it may have forgotten (it abstains), and when T
// lies too far ahead of its clock.
//
// COMMIT, round 2, asks the nodes to accept a token t above every token that
// any of them has named, unless their clocks would refuse it, and at least the Unix
// time in seconds times 2^20.
// Each node accepts a token only above all it has accepted before. Acceptances
// of one and the same t count together. Where a node has seen a larger one, the
// attempt takes a larger one still and counts anew; where replies were lost, it
// asks again, which is harmless. Once Q nodes have accepted, the claim is
// issued. A node keeps the claim until the next tick or FORGET: lock, lease and
// clocks have no part in that a tick runs once.
//
// A direct claim ([locking.Request].Direct) has no round 1: it begins with COMMIT,
// with the token that the clock gives and as the first attempt for T. COMMIT tests
// all that ACQUIRE does, and what a node would have told in round 1, a larger
// token or an earlier attempt, it tells then, and is asked again. Safety rests on
// COMMIT alone in any case; round 1 keeps attempts that meet from dividing the
// nodes' votes, which only whoever is alone can do without. It asks Q nodes, those
// at which the name begins and that vote, and the others only where these do not
// suffice, or when the lease is extended: the claim of what is short is on Q nodes.
//
// The lease lasts from the start of the earliest of the Q accepted requests
// counted, for ttl less drift. EXTEND renews the lock, or sets it again where it
// ran out and nothing has been accepted since; Q renewals move the deadline.
//
// FINISH closes the tick, keeps the run's record and frees the lock. It is
// repeated until Q nodes know or the lease is over, and behind the caller's
// back on the others. A node says whether the lock was still v's, and remembers
// that, so that a repeated FINISH is answered alike: a lease was held until its
// release if Q nodes say so. A node that has accepted another claim since keeps
// the record as late. With handover the tick is not done: a rerun may claim it at
// once, and a tombstone keeps out what v has sent before.
//
// VOID takes back an attempt that will never run the job: decided once, before
// the function is called. What may still be on its way to a node meets a
// tombstone there. Nodes that do not answer are asked again in the background,
// see [Config].CleanFor; until they have heard, such a node may name a claim
// that nobody runs, which costs its vote for that tick.
//
// Three details that only a model found. A void claim that was requested
// AtLeastOnce frees its tick for further reruns only: it may lie over the claim
// of a run. The attempt number of a void claim stays used. And EXTEND refuses
// wherever a larger token has been accepted, even if the lock is v's: a late
// ACQUIRE may have brought it back.
//
// Ticks of a job that run beside one another ([locking.Request].Beside) have a
// share of the lock each instead of the lock, one per tick. The claim stays one
// per stream, so that ticks are claimed in order and tokens grow as ever. COMMIT
// writes its token into the share, and EXTEND renews a share with the token
// whatever was claimed since; a share that ran out is set again only while
// nothing was. FINISH of an older tick leaves the claim of the newer alone. Who
// wants the lock waits for all shares, and they for it.
//
// Plain locks, without a tick, take the same way without the tests of ticks.
// They share lock and fence with the job of the same name.
//
// # What operators do
//
// EVICT, a forced release, leaves v a tombstone with the operator's reason and
// frees the lock if it is v's. The claim stays, so tick and token stay closed,
// as if the lock had run out and v had given up; to the promises that is all it
// is. What is new is that v cannot extend any more, and learns why. The
// tombstone lasts for two graces, longer than any pause between extensions, as
// the grace exceeds the ttl of every replica.
//
// FORGET drops the claim and the records of a name whose lock nobody holds. The
// node keeps two marks for all names it has forgotten, which only rise: the
// largest token and the latest tick. Where it keeps nothing of a name, or of one
// of its streams, it takes the marks for what it has accepted. So what a node
// answers after FORGET to an old request, or about an old tick, is a refusal, as
// before; and each node by itself goes on accepting larger tokens and later
// ticks only, whatever the others have forgotten.
//
// # What redsync does
//
// redsync carries round 1 where there is one, what frees the lock after it, and the
// extensions, and its verdict decides them; COMMIT, FINISH and VOID ask the nodes
// without it. So a direct claim that is over before its first extension has no part
// for it. It sees a pool per node, a SetNX that is ACQUIRE, and an Eval that is
// EXTEND or ABORT, as the attempt's phase demands; why a node refused, fences and
// deadlines stay with the attempt. One mutex with its
// own pools serves one attempt and is used by one goroutine at a time. No
// request is cut off by a context, since it might take effect all the same:
// each ends with its node's timeout.
//
// # What may be concluded
//
// A refused attempt says why, and no more than the answers support. One node
// that knows T as done proves that it ran. N-Q+1 nodes that hold a later tick or
// abstain prove that no further attempt can win T. Q nodes that name the same
// claim of T say that it was issued, though its owner may not have heard, and
// void it. Everything else may change: look again.
//
// A replica that would rather not compete looks ([Locker].Watch): it asks one node
// at a time what ACQUIRE would say, which sets nothing there, and concludes the
// same from the answers of several, one after the other.
//
// # Assumptions
//
// Tokens and once-per-tick need no assumption on time, as long as nodes keep
// what they accepted. A node that may have lost it (its run_id has changed)
// abstains from every tick up to its restart plus the grace; this needs the
// grace to exceed the ttl, and the node's own clock, when it comes back, not to
// be more than half a grace behind the latest time that it ever read: a clock
// that was once ahead and corrected long before the restart counts too. The
// clocks of replicas and of other nodes do not matter: a wrong one costs votes.
//
// # Not promised
//
// That a paused holder has stopped when its lease ends: the token is for that.
// That any tick runs while fewer than Q nodes answer. That a tick runs at all
// when its owner dies between COMMIT and the call of the function, unless it
// was requested AtLeastOnce.
//
// # What is said twice
//
// The rules of a node stand in the Lua files and once more, in plain Go, in
// package nodetest. Tests send random requests, in any order, to both, on a real
// server and on an embedded one, and compare every answer and all that is
// stored. The simulation of whole clusters has the plain ones as its nodes.
//
// # What was modelled
//
// The folder model holds the rules for the Spin model checker: acquire, commit,
// extend, finish, void and tombstones, restarts with and without memory, both
// modes, messages lost, delayed, repeated and reordered. It shows no
// violation of the promises, and one for each check that is taken away.
package redlock
