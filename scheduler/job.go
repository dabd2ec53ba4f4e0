package scheduler

import "github.com/quorate/quorate/scheduler/internal/job"

// A Job is a function, when it runs, and what becomes of its ticks when
// something stands in their way.
type Job = job.Job

// The policies of a Job.
type (
	// An Overlap says what becomes of a tick while an earlier run of its job goes
	// on, anywhere in the cluster.
	Overlap = job.Overlap
	// OnCrash says what becomes of a run whose replica died.
	OnCrash = job.OnCrash
	// CatchUp says what becomes of ticks that came while no replica or no quorum of
	// nodes was there.
	CatchUp = job.CatchUp
	// A CatchUpMode says which of these ticks are run later.
	CatchUpMode = job.CatchUpMode
	// A Retry says how often a function that failed is called again, and after which
	// pauses.
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

// What policies mean that leave a field out.
const (
	DefaultCatchUpWindow = job.DefaultCatchUpWindow
	DefaultCatchUpMax    = job.DefaultCatchUpMax
	DefaultBackoff       = job.DefaultBackoff
	DefaultMaxBackoff    = job.DefaultMaxBackoff
)

// ChainCircle returns jobs of which each triggers the next and the last is the
// first again, or nil if all chains end. chains lists what each job triggers.
func ChainCircle(chains map[string][]string) []string { return job.ChainCircle(chains) }

// BackfillSlots are the names of the locks that backfills of the job with the key
// may have used, and that go with it.
func BackfillSlots(key string) []string { return job.BackfillSlots(key) }
