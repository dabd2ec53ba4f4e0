package scheduler

import (
	"errors"
	"strings"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// A Job is a function, its schedule, and its policies, as a program writes it. The zero value
// of each field is its default, but of Name, Schedule and Handler.
type Job = job.Definition

// Groups of settings of a Job.
type (
	// Requests says which params a request for a run may have.
	Requests = job.Requests
	// Limits bound the runs of jobs in the whole cluster.
	Limits = job.Limits
	// A Chain has the keys of jobs that a run triggers.
	Chain = job.Chain
	// About is what listings show of a job.
	About = job.About
)

// The policies of a Job.
type (
	// An Overlap is the policy for a tick that comes during an earlier run of its job,
	// anywhere in the cluster.
	Overlap = job.Overlap
	// OnCrash is the policy for a run whose replica has died.
	OnCrash = job.OnCrash
	// CatchUp is the policy for ticks that came without a live replica or without a quorum.
	CatchUp = job.CatchUp
	// A CatchUpMode says which ticks that no replica could run are run later.
	CatchUpMode = job.CatchUpMode
	// A Retry says how often, and after which pauses, a failed function is called again
	// under the same claim.
	Retry = job.Retry
)

// The values of the policies. The first of each is the default.
const (
	OverlapSkip           = job.OverlapSkip
	OverlapQueue          = job.OverlapQueue
	OverlapCancelPrevious = job.OverlapCancelPrevious
	OverlapAllow          = job.OverlapAllow

	CrashSkip  = job.CrashSkip
	CrashRerun = job.CrashRerun

	CatchUpNone = job.CatchUpNone
	CatchUpLast = job.CatchUpLast
	CatchUpAll  = job.CatchUpAll
)

// Defaults of the policies.
const (
	DefaultTimeout       = job.DefaultTimeout
	DefaultCatchUpWindow = job.DefaultCatchUpWindow
	DefaultCatchUpMax    = job.DefaultCatchUpMax
	DefaultBackoff       = job.DefaultBackoff
	DefaultMaxBackoff    = job.DefaultMaxBackoff
)

// ChainCircle returns jobs that trigger each other in a circle, the first one again at the
// end, or nil if all chains end. chains lists what each job triggers.
func ChainCircle(chains map[string][]string) []string { return job.ChainCircle(chains) }

// CheckLoss returns an error that matches ErrHalfWritten if after has fewer jobs than before and
// lacks more than half of those.
func CheckLoss(before, after []Job) error { return job.CheckLoss(before, after) }

// BackfillSlots returns the names of the locks that backfills of the job may have used.
// They are deleted with the job.
func BackfillSlots(key string) []string { return job.BackfillSlots(key) }

var (
	// ErrHalfWritten is the Err of an event.UpdateFailed whose new jobs lack most of the old
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
