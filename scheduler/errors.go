package scheduler

import (
	"errors"
	"strings"
)

var (
	// ErrDropped is the Err of an EventRecorded whose tick the ledger never got: too many waited while no quorum answered, or the
	// replica stopped first.
	ErrDropped = errors.New("outcome was not recorded")

	// ErrStopped is returned by Scheduler.Update when it comes too late: Run drains
	// or has returned.
	ErrStopped = errors.New("scheduler: it is too late for an update: the replica drains or has stopped")

	// ErrRunTwice is returned by a second call of Scheduler.Run.
	ErrRunTwice = errors.New("scheduler: Run may be called once")
)

// A StuckError is returned by Scheduler.Run when functions ignored the end of
// their context beyond the drain. Their goroutines still run, so the process
// should exit: their leases then end by themselves.
type StuckError struct {
	Jobs []string // sorted; empty if what did not end was a claim or a release
}

// Error names the jobs.
func (e *StuckError) Error() string {
	if len(e.Jobs) == 0 {
		return "no job runs, but messages to the nodes did not end in time: the process was probably paused"
	}
	return "jobs ignore the end of their context and still run: " + strings.Join(e.Jobs, ", ")
}
