// Package kv is the contract of a consistent store: one PostgreSQL, for example, in
// place of a quorum of Redis nodes. Locks, ledger, roster and acts stand on it. Package
// kvtest checks those who implement it.
//
// # Records
//
// A store keeps small JSON documents, the records, each under a [Key]. It need not
// understand them. All decisions are made by [Store.Commit]: a transaction that names the
// versions it has seen, and writes only if none of them has changed. So every decision is
// made from what is stored, and of two that contradict each other one loses.
//
// # Promises of a Store
//
//   - Reads and commits are linearizable: a call sees everything that was committed before
//     it began.
//   - A commit happens wholly or not at all. If the store does not answer, it is unknown
//     whether it happened, or will happen soon.
//   - A key never has the same version twice within a life, also after it was deleted.
//   - Every answer carries the life of the server that gave it, and the server's clock if
//     it has one.
//
// # Lives
//
// A life is a stretch in which the store forgets nothing. A server that may have forgotten
// what another one has acknowledged has another life: a standby that was promoted, or a
// server that was restored from a backup. A transaction names the life in which its
// versions were read, and loses in any other.
//
// # Stores without a clock
//
// The answers of etcd and ZooKeeper carry no clock: [Stamp.Now] is zero. On such a store
// leases expire by observation, as package claims describes, and replicas' clocks decide on
// nothing else that is promised within a life. Times in records, such as that of an act or a
// heartbeat, are then the clocks of the replicas that wrote them ([Stamp.At]).
//
// Locks treat another life as they treat a Redis node that has lost its memory: for a grace
// they grant nothing that may have been granted before.
package kv
