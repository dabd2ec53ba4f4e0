// Package nodes speaks to the independent Redis masters ("nodes") that vote:
// one client and one deadline per node, the identity of each node checked in
// every script, nodes that are down skipped and probed in the background, and
// the membership of the cluster.
//
// It is the driver beneath the adapters that hold rules of their own: package
// redlock (claims) and package redisledger (records). Both hand their Lua to
// NewScript, which puts in front of it what every script does first:
//
//	ns:node missing          → BLANK, nothing is written
//	another run_id           → the node restarted: it remembers since now
//	another list, epoch, …   → CONFIG, with what the node holds
//
// What is left, an answer to the rule's own text, is a vote. A refusal or a
// failure is never one: it comes back as Reply.Err.
//
// # What a node remembers, and since when
//
// A node that restarted may have forgotten what it accepted. It therefore
// abstains from every tick up to its floor, which is the moment it came (back)
// plus the restart grace; Set.Vouching tells when a quorum no longer does.
//
// # Nodes that are down
//
// A call that runs into its timeout or loses its connection marks the node
// down. From then on calls fail at once with ErrDown, so a frozen node costs
// one timeout once. Set.Run probes such nodes and takes them back when they
// answer; without Run one call every few seconds is let through as the probe.
//
// The timeout counts from when a request is sent: what a call waits for in this
// process says nothing of the node. Nor does a request that times out while the node
// answers others, or one whose timeout this process noticed much too late because it
// was busy: such a call has failed, and may have taken effect, but the node stays up.
//
// # Calls that share a request
//
// The rules of claims are short and many at once: every replica has all that is
// due in the same second. Calls of such a script ([Script.Batched]) that meet at
// a node share a request, which checks the node once and runs the rule for each:
//
//	call a ──────────► EVALSHA one  a
//	call b ──────────► EVALSHA one  b          two under way: the others wait
//	call c, d, e, f … ──────────► EVALSHA many c d e f …, as soon as one returns
//
// So a call alone waits for nothing, and the busier a node the less a call costs
// it. A call that ends in the queue was never sent ([Reply.Unsent]); one that was
// sent has its own answer or silence, whatever becomes of the others.
//
// How long a call waits in the queue depends on the other nodes. Once a quorum of
// them has answered, this one is slow, and half a timeout is enough. Until then all
// are slow, or this process is: the call waits for up to a quarter of a lease, since
// giving up would only add to the load. Behind a silent request nobody waits.
//
// Calls of one round, at all nodes, are handed to the lanes and awaited together,
// without a goroutine, a context and a timer for each ([Set.CallSome]).
//
// go-redis has an AutoPipeliner for the same purpose. It sends many EVALSHA in one
// round trip where lanes send one that checks the node once. On two crowded cores,
// with one server, 256 callers and a rule of two writes, it did 9,500 to 13,500
// calls a second, a pool of connections 5,000 to 12,900, lanes 29,800 to 65,700;
// the median of a call alone was 70 to 94 µs, 47 to 90, and 42 to 50. Nor does it
// honour the deadline of a command that it has queued: at a frozen server every
// call returned after the client's read timeout, whatever its own.
//
// # Blank nodes
//
// A node without ns:node is blank: new, or robbed of its memory. It is
// formatted (and then abstains until its floor) when a quorum of the listed
// nodes holds the same list, or when all listed nodes answer and none holds
// another. Everything else is refused with the reason, never guessed.
//
// # Changes of the list
//
// A cluster moves from one list of nodes to another in two steps ([Change]).
// SEAL marks a node of the old list for the new one; from then on it refuses
// everything but reads and finishes. When a quorum of the old list is sealed, so
// that it cannot grant anything any more, OPEN makes the nodes of the new list
// members of it, at the next epoch. Every request names list and epoch.
//
//	old list                                   new list
//	open ──SEAL target──► sealed ─ ─ Q of N ─ ─► OPEN target ──► open, epoch + 1
//	                        │                        ▲
//	                        └── in both lists ───────┘  keeps its claims
//
// A seal holds the target, which is the hash of the new list and its epoch, and
// is never replaced by one for another target: whoever has seen Q seals may open
// that list at any later time. So both steps can be repeated by anybody until
// they are through, and a change that was begun is finished, not abandoned. Of
// two that are begun at once one can get a quorum of seals; then the seals of the
// other have lost, and do not keep their nodes from being opened.
//
// An opened node knows little of what the old list granted: a new node nothing,
// one in both lists not all. Like a node that lost its memory it remembers since
// now, or since the latest clock reading of the seals if that is later. Nothing
// that the old list granted lies further than half a grace beyond that reading,
// provided that no node's clock stepped back by more than half a grace in
// between. A node whose own clock is more than half a grace behind the reading
// refuses to be opened. Nodes that join the new list later, blank, wait for the
// same reading, which the opened ones keep.
//
// A seal is memory, too. The old list stays closed as long as fewer than Q of
// its nodes are without a seal: those that were never sealed, and those that
// have lost theirs. Once all replicas run with the new list it does not matter
// any more.
//
// Replicas that start too early with the new list are refused by the nodes that
// are in both. A new list that shares no node with the old one cannot be told
// from a new cluster before it is opened.
//
// # Cells
//
// Several groups of nodes may divide the names between them ([OpenCells]). What
// they are called is part of the list that a node compares, so clients that would
// look for a name elsewhere are refused. A cell of blank nodes is formatted only
// where each of the others is known to have the same cells, or is blank too: else
// it may be one that is to be added. [LayoutChange] does that: it seals every old
// cell before it opens the first new one.
//
// # What ns:node holds
//
// A hash, written by FORMAT, INIT, SEAL, OPEN and the checks before every script:
//
//	format        version of all that is stored, FormatVersion
//	name          of the node, as the replicas list it
//	members       hash of the sorted names of the list; names: the names. Where
//	              several groups of nodes divide the jobs, both end with which of
//	              the cells the list is: @east/east,west
//	epoch         how often the list was changed
//	grace         the restart grace, ms
//	run_id        of the server's life that was last seen
//	since         the node remembers since then, by its own clock, ms; 0: it
//	              never served before it was formatted
//	embedded      1: a node without a run_id, for development
//	served        1: it has accepted a claim, or belongs to a list that was
//	              changed; it cannot be declared new
//	sealed_for    target of the change that it is sealed for, hash:epoch;
//	sealed_names  the names of that list
//	sealed_at     while sealed: what its clock had reached then, ms; of a list
//	              that was changed: the latest of the seals it rests on
//	gc_fence      the largest token and the latest tick of jobs that were
//	gc_tick       forgotten here
//
// # Logging of go-redis
//
// go-redis prints failed dials to standard error through a global logger. This
// package leaves that logger alone: its dialer hands such failures over as a
// connection whose first write fails, which go-redis reports as an error only.
package nodes
