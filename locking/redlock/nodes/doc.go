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
// # Blank nodes
//
// A node without ns:node is blank: new, or robbed of its memory. It is
// formatted (and then abstains until its floor) when a quorum of the listed
// nodes holds the same list, or when all listed nodes answer and none holds
// another. Everything else is refused with the reason, never guessed.
//
// # Logging of go-redis
//
// go-redis prints failed dials to standard error through a global logger. This
// package leaves that logger alone: its dialer hands such failures over as a
// connection whose first write fails, which go-redis reports as an error only.
package nodes
