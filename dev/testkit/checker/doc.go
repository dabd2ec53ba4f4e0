// Package checker compares the ledger with what really happened: what the jobs' sink saw,
// what the replicas logged, and when they were alive. Every tick of a span must have one
// row, and each row must be true; Check returns the violations.
//
// Campaigns of real processes fill a Record: ParseLog reads a replica's JSON log. The tests
// plant each violation once, and Check must find it.
//
// Effects of a busy machine are no violations: a tick may be missed for a split vote or a
// slow node while all nodes are well, if the replica that recorded it has logged the same.
package checker
