package ledger

import "time"

// A Divided ledger is made of several, each of which keeps some of the jobs and
// may have no quorum while the others have. It is for implementations of Store.
type Divided interface {
	Store
	// Parts is how many there are, and Part which of them, from 0, keeps the job
	// with the key.
	Parts() int
	Part(key string) int
}

// A Rememberer is a Store that may lose its memory. It is for implementations of Store.
type Rememberer interface {
	Store
	// RemembersSince is since when the ledger has what was recorded of the job with the
	// key, by the local clock; false: it is not known.
	RemembersSince(key string) (time.Time, bool)
}
