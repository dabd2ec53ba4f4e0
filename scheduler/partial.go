package scheduler

import "errors"

// A PartialError comes with an answer that lacks what concerns some jobs, because
// nobody could be asked about them: those whose nodes have no quorum, where other
// nodes decide on other jobs. It is for implementations of Roster and Acts that
// are made of several.
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

// whole returns err unless it comes with a part of the answer.
func whole(err error) error {
	if _, partial := errors.AsType[*PartialError](err); partial {
		return nil
	}
	return err
}

// lacks tells whether an answer that came with err lacks the job with the key.
func lacks(err error, key string) bool {
	partial, ok := errors.AsType[*PartialError](err)
	return err != nil && (!ok || partial.Lacks(key))
}
