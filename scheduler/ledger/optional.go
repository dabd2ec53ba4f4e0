package ledger

import "time"

// A Rememberer is a Store that may lose its memory. It is for implementations of Store.
type Rememberer interface {
	Store
	// RemembersSince is the local time since which the ledger has all records; false:
	// unknown.
	RemembersSince() (time.Time, bool)
}
