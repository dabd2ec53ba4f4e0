package ledger

// A PartialError comes with an answer that lacks what concerns some jobs, because
// nobody could be asked about them: those whose nodes have no quorum, where other
// nodes decide on other jobs. Rosters, ledgers and stores of acts that are made of
// several return it.
type PartialError struct {
	// Err is why, as it would be if nothing had been answered.
	Err error
	// Lacks tells of the key of a job whether the answer lacks it.
	Lacks func(key string) bool
}

// Error is the text of Err.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PartialError) Unwrap() error { return e.Err }
