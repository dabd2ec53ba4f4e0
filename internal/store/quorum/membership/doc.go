// Package membership knows which Redis masters ("nodes") vote, and whether each may. It
// checks a node's identity in every script, formats blank nodes, lets restarted nodes
// abstain, and changes the list of nodes. Package client carries the calls.
//
// Packages with their own rules pass their Lua to NewScript: redlock (claims),
// quorum/ledger (records) and quorum/acts (requests). Every script first checks:
//
//	ns:node missing          → BLANK, nothing is written
//	another run_id, repl_id  → the node restarted: it remembers since now
//	another format           → CONFIG: it must be cleared, nothing is converted
//	another list, epoch, …   → CONFIG, with the node's value
//
// Only a rule's own answer is a vote. Refusals and failures are returned as Reply.Err.
//
// Calls to a node that does not answer fail at once, see package client. Set.Run probes
// such nodes and uses them again when they answer. Without Run, one call every few
// seconds serves as the probe.
//
// PROTOCOL.md states the rules: how long a restarted node abstains (N0), when a blank
// node is formatted (M1), and how a cluster changes its list of nodes (M2, [Change]). A
// node with data of format 1, whose keys had no hash tag, is refused; it is not blank.
//
//	old list                                   new list
//	open ──SEAL target──► sealed ─ ─ Q of N ─ ─► OPEN target ──► open, epoch + 1
//	                        │                        ▲
//	                        └── in both lists ───────┘  keeps its claims
//
// A seal stores the target: the hash of the new list and its epoch. No other target
// ever replaces it, so a change that was begun must be finished. Nodes in both lists
// refuse replicas that start too early with the new list. A new list without nodes of
// the old one looks like a new cluster until it is opened. The old list stays closed
// while fewer than Q of its nodes are without a seal, whether they never had one or
// lost it.
//
// # The node's record
//
// Every key begins with ns, the namespace in braces: {quorate}:node. So all keys of a
// namespace have the same hash tag. The hash ns:node is written by FORMAT, INIT, SEAL,
// OPEN and the checks before every script:
//
//	member        compared with each request: the node's name, as the replicas list
//	              it; hash of the sorted names of the list; epoch, the number of
//	              changes of the list; restart grace, ms; FormatVersion
//	names         of the list
//	run_id        of the server when it was last called
//	repl_id       its replication id then, for a node that is the whole store
//	since         the node remembers since then, by its own clock, ms; 0: it
//	              never served before it was formatted
//	embedded      1: a node without a run_id, for development
//	served        1: a replica has written here, or the list was changed; the node
//	              cannot be declared new
//	sealed_for    while sealed: the target, hash:epoch
//	sealed_names  while sealed: the names of that list
//	sealed_at     while sealed: the latest reading of its clock, ms; after a
//	              change: the latest reading of all its seals
//	gc_fence      the largest token and the latest tick of jobs that were
//	gc_tick       forgotten here
package membership
