// Package postgres is a [kv.Store] on PostgreSQL 15 or later.
//
// # Setting up
//
// [Migrate] makes the schema, as its owner. Replicas use a role that may only call the
// functions and read the views; [Grants] has the statements that allow it. The functions
// run with the rights of their owner, so replicas have no right to the tables themselves. The
// schema belongs to Quorate alone.
//
// Connections may go through PgBouncer in transaction mode: every call is one statement, and
// none is prepared. A session keeps only the identifier of its server, which the function life
// reads once: all who share the session have the same server.
//
// # Tables
//
// The table "records" has all records, by kind, name and sub. The views "runs" and "ticks" have
// the ledger with typed columns.
//
// # Transactions
//
// Commit is one call of the function commit_records, at READ COMMITTED. It locks the keys,
// compares, and writes. The locks are advisory locks by the hash of the key, held until the
// transaction ends: rows cannot be locked that do not exist. A key that is only compared
// costs a shared lock in memory, and nothing is written for it.
//
// # Lives
//
// The life is the server's system identifier and its timeline, read by the statement that
// reads or writes records. A promoted standby and a server that was recovered to a point in
// time have another timeline. A server that restarts has the same one: it has kept what it
// acknowledged, if fsync and full_page_writes are on. A disk snapshot or a copied data
// directory that is started as it is has the same life too; operators have to say so.
//
// Some services hide the timeline, and promise that no failover forgets what was committed.
// [Config.Durable] believes them.
package postgres
