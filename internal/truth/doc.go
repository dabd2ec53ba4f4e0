// Package truth holds the ledger against what really happened: what the sink of the
// jobs saw, what the replicas logged, and when they lived. Every tick of a span must
// have one row, and each row must be true; Check returns the lies.
//
// Campaigns of real processes fill in a Record: ParseLog reads what a replica has
// logged as JSON. The tests plant each lie once, and Check must find it.
//
// What a busy machine can cause is not a lie: a tick may be missed for a split vote
// or a slow node while all nodes are well, if the replica that recorded it has
// logged the same.
package truth
