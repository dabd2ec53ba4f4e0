package scheduler

import (
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
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

// What replicas publish of themselves and their jobs.
type (
	// A Roster knows the live replicas and their jobs. It is a hint: only the claim decides
	// which replica runs a tick.
	Roster = roster.Roster
	// A Replica is one process of the cluster as it last described itself.
	Replica = roster.Replica
	// A JobInfo is the published form of one version of a job, for listings without the
	// configuration.
	JobInfo = roster.JobInfo
	// An Account says from when on every tick of a job has an entry.
	Account = roster.Account
	// A Version is one version of a job in listings: one that replicas serve now or, if
	// there is none, the last one.
	Version = roster.Version
	// A Judge computes the entries of ticks that the ledger does not have.
	Judge = roster.Judge
	// JobSets store sets of jobs by their hash.
	JobSets = roster.JobSets
	// A JobSet describes the jobs of a Replica.ConfigHash.
	JobSet = roster.JobSet
	// A JobText is one job of a set.
	JobText = roster.JobText
)

// States of a replica.
const (
	StateReady    = roster.StateReady
	StateWaiting  = roster.StateWaiting
	StateSkewed   = roster.StateSkewed
	StateDraining = roster.StateDraining
	StateStopped  = roster.StateStopped
	StateLost     = roster.StateLost
)

const (
	// SeenLately is how long a replica stays on the roster after its last beat.
	SeenLately = roster.SeenLately
	// RememberLost is how long listings know a replica that fell silent without leaving.
	RememberLost = roster.RememberLost
	// MostLost is how many of them listings know.
	MostLost = roster.MostLost
	// MaxDefinition bounds the bytes of a published definition.
	MaxDefinition = roster.MaxDefinition
	// MaxJobSet bounds the bytes of a stored set, before compression.
	MaxJobSet = roster.MaxJobSet
)

// Successors returns the list, sorted by ID, without processes that another one with their ID has
// succeeded: it started after they were last seen.
func Successors(list []Replica) []Replica { return roster.Successors(list) }

// ErrNoJobSet is returned for a set that nobody has stored, or renewed for a day.
var ErrNoJobSet = roster.ErrNoJobSet

// Versions returns, for each job, the published versions that replicas serve now, or the
// last one if there are none. It calls read for each set of a live replica that the published
// versions alone do not tell.
func Versions(published []JobInfo, live []Replica, read func(hash string) (JobSet, error)) ([]Version, error) {
	hashes, sets := roster.ToRead(published, live)
	for _, hash := range hashes {
		switch set, err := read(hash); {
		case err == nil:
			sets.Add(hash, set)
		case !errors.Is(err, ErrNoJobSet): // it is not stored yet, or was too large
			return nil, err
		}
	}
	return roster.Versions(published, live, sets), nil
}

// Strangers returns for each of the live replicas the names of jobs that it serves in another way than
// one beside it, sorted, once no start, drain or change of jobs explains that. read returns a set
// of jobs; those that cannot be read are not compared.
func Strangers(live []Replica, now time.Time, read func(hash string) (JobSet, error)) [][]string {
	return roster.Strangers(live, now, read)
}

// ServedBy returns a live replica that may still serve one of the published versions of a
// job, "" if none does. A job may be forgotten only then.
func ServedBy(versions []JobInfo, live []Replica, now time.Time) string {
	return roster.ServedBy(versions, live, now)
}

// PackJobs writes a set of count jobs, in the order of their keys, for UnpackJobs. Of a set
// that is too large it writes only the count.
func PackJobs(count int, jobs iter.Seq[JobText]) ([]byte, error) {
	return roster.PackJobs(count, jobs)
}

// UnpackJobs reads what PackJobs wrote. Numbers in settings are json.Numbers.
func UnpackJobs(packed []byte) (JobSet, error) { return roster.UnpackJobs(packed) }

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
