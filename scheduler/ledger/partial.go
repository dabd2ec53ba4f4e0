package ledger

// A PartialError comes with an answer that lacks some jobs: their nodes have no quorum,
// while other nodes, with other jobs, have answered. Rosters, ledgers and stores of acts
// with several parts return it.
type PartialError struct {
	// Err is why, as if nothing had been answered.
	Err error
	// Lacks reports whether the answer lacks the job with the key.
	Lacks func(key string) bool
}

// Error is the text of Err.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PartialError) Unwrap() error { return e.Err }
