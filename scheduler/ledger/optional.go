package ledger

import "time"

// A Divided ledger has several parts, each with some of the jobs and its own quorum. It is
// for implementations of Store.
type Divided interface {
	Store
	// Parts is their number, and Part the one, from 0, with the job of the key.
	Parts() int
	Part(key string) int
}

// A Rememberer is a Store that may lose its memory. It is for implementations of Store.
type Rememberer interface {
	Store
	// RemembersSince is the local time since which the ledger has all records of the job
	// with the key; false: unknown.
	RemembersSince(key string) (time.Time, bool)
}
