// Package sim simulates whole clusters: the scheduler, the locker and the ledger
// as they are, on nodes, networks and clocks that do as a seed says. What was
// seen is held against the promises. A world of a minute takes some 50 ms.
//
//	go test ./dev/sim -v -run 'TestSim$'   -args -seeds=3000
//	go test ./dev/sim -v -run 'TestLocks$' -args -claims=1000000
//
// This package is the world and the checker, which know nothing of quorate; the
// tests put replicas into it.
//
// # What is simulated
//
//   - Messages are late, lost, doubled and overtaken; requests arrive long after
//     whoever sent them gave up; replies are lost of requests that took effect.
//   - Nodes crash and come back with all of their memory, without what has a
//     TTL, with an older state, or with nothing; all of them at once, as when
//     power fails. They freeze, and thaw with the requests that waited. Their
//     clocks are off, fast, slow, and set.
//   - Replicas are cut off from nodes, paused for longer than their leases, with
//     jobs that go on writing afterwards, killed and started again. Their clocks
//     are off, and set.
//   - Configurations are rolled out: versions with another ttl, a moved
//     schedule, a job more or less run side by side.
//   - Jobs have all policies for overlap, crashes, catching up and retries, and
//     share a group; all replicas die at once, and all but one again while they
//     catch up; jobs are paused while their ticks are claimed, and configurations
//     reloaded while they run.
//
// The nodes are the model of package nodetest, which a test holds against real
// servers. TestSim is replicas with jobs, TestPolicies the same with policies,
// TestLocks four clients who want one lock, as a plain lock or with ticks in both
// modes, TestListChange the same while the list of nodes is changed and clients
// move to the new one, some too early and some late.
//
// TestSimOnStore, TestPoliciesOnStore and TestLocksOnStore have one consistent store in
// memory instead of the nodes. One that comes back with an older state is a standby that
// takes over in another incarnation. Requests come late, but never twice. In odd worlds its answers
// carry no clock.
//
// TestSimOnSQL, TestPoliciesOnSQL and TestLocksOnSQL have a database instead, below package sqlstore, which
// MySQL and SQLite share. Each statement is a message. So several replicas have transactions open at the
// same time, locks last while a replica is paused, connections break between any two statements, and a
// COMMIT arrives when nobody waits for it any more. The database locks rows as MySQL does at READ COMMITTED, or in
// odd worlds the whole file as SQLite does. It parses the statements of package sqlstore and panics at others.
// TestDatabase holds it to the contract of stores.
//
// # What is not
//
// Time that passes while code runs: a goroutine takes none between two messages.
// A pause stops a process at its next message and its next look at the clock,
// not in between. The monotonic clocks of all processes run alike; the wall
// clock of leases is the world's. What people ask for reaches all replicas that are
// awake: the nodes' part of it is tested elsewhere. On a database, statements that wait for a lock do
// not queue.
//
// # What is checked
//
// Once per tick, tokens that only grow, contexts that end before leases, stale writes
// refused and good ones not, one lease at a time (unless a node's clock was set), a ledger
// with one outcome for every tick that a surviving replica saw come due (unless a quorum's
// memory was lost), and that all ticks run in calm weather. Of policies: ticks claimed in
// their order, attempts that grow with their tokens, runs that begin in time, that end when
// they are replaced and for nothing else, such as a reload, groups within their limit, no
// run of a paused or a dropped job, nothing missed that was to be caught up, nothing left
// interrupted that was to be run again. TestPolicies prints how often the worlds came to
// what these are about, and fails where they never did. TestCheck shows the checker what it
// must refuse; TestChecksAreNeeded takes the nodes' checks away one by one,
// TestStoreChecksAreNeeded those of the store, TestLocksOfRowsAreNeeded and TestComparedIsLocked the locks of
// a database, and TestAssumptionsAreNeeded does what the protocol assumes that nobody does: each must break
// a promise.
//
// # Seeds
//
// A seed decides the cluster, the troubles and the fate of each message, which
// depends on what the message says and not on who is faster. Left to the runtime
// is the order of goroutines of one process that wake at the same nanosecond, so
// one world in a hundred may differ when it is run again: run it a few times. On a
// database more of them differ, because a transaction that finds a lock waits a random time.
// A failing test takes away the troubles that are not needed, prints the end of
// the history, and the command that runs that world again. The seed's meaning
// changes with the code: keep the history, not the number.
//
// # To add a fault
//
// Name it in fault.go, say what it does in strike and what it reads as in
// String, and add it to the kinds that storm (params_test.go) or drawLocks
// (locks_test.go) draw from. Where it breaks an assumption, say so in
// params.exclusive or cluster.remembers, or better, add it to
// TestAssumptionsAreNeeded.
package sim
