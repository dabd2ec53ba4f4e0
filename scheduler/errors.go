package scheduler

import (
	"errors"
	"strings"

	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
)

var (
	// ErrDropped is the Err of an EventRecorded whose tick never reached the ledger: too
	// many waited for a quorum, or the replica stopped first. It is that of an EventSettled
	// whose tick waited too long among too many to be looked at again.
	ErrDropped = event.ErrDropped

	// ErrHalfWritten is the Err of an EventUpdateFailed whose new jobs lack most of the old
	// ones, or whose file seems to be cut off. They are served if they are found the same
	// some time later.
	ErrHalfWritten = job.ErrHalfWritten

	// ErrStopped is returned by Scheduler.Update when Run drains or has returned.
	ErrStopped = errors.New("scheduler: it is too late for an update: the replica drains or has stopped")

	// ErrRunTwice is returned by a second call of Scheduler.Run.
	ErrRunTwice = errors.New("scheduler: Run may be called once")
)

// A StuckError is returned by Scheduler.Run when functions still run after the drain,
// although their contexts have ended. The process should exit: the leases then expire.
type StuckError struct {
	Jobs []string // sorted; empty if a claim or a release did not end
}

// Error names the jobs.
func (e *StuckError) Error() string {
	if len(e.Jobs) == 0 {
		return "no job runs, but messages to the nodes did not end in time: the process was probably paused"
	}
	return "jobs ignore the end of their context and still run: " + strings.Join(e.Jobs, ", ")
}
