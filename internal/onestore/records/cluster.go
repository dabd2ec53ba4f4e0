package records

import "time"

// A Life is the store's incarnation that has been seen last.
type Life struct {
	Life string `json:"life"` // as in a store.Stamp
	// Since is the store's clock when this life was first seen; 0 for a store that was
	// declared new.
	Since int64 `json:"since"`
}

// Floor is the time up to which the store may have forgotten claims: none are granted until
// then.
func (l Life) Floor(grace time.Duration) int64 {
	if l.Since == 0 {
		return 0
	}
	return l.Since + grace.Milliseconds()
}

// Forgotten has the largest token and the latest tick of all names that were forgotten.
// Every FORGET writes it, so a CLAIM of a name without claims compares it.
type Forgotten struct {
	Fence uint64 `json:"fence"`
	Tick  int64  `json:"tick"`
}
