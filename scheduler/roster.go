package scheduler

import (
	"iter"
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
)

// What replicas publish of themselves and their jobs.
type (
	// A Roster knows which replicas live and which jobs they serve. It is a hint: who
	// may run a tick is decided by the claim alone.
	Roster = roster.Roster
	// A Replica is one process of the cluster as it last described itself.
	Replica = roster.Replica
	// A JobInfo is what listings say of a job without its configuration at hand: one
	// version of it.
	JobInfo = roster.JobInfo
	// An Account says how far back a job's ticks have to be accounted for.
	Account = roster.Account
	// A Version is what listings show of a job.
	Version = roster.Version
	// A Judge says what became of ticks of a job that have no entry in its ledger.
	Judge = roster.Judge
	// JobSets keep what sets of jobs consist of, by their hash.
	JobSets = roster.JobSets
	// A JobSet is the jobs that a Replica.ConfigHash stands for.
	JobSet = roster.JobSet
	// A JobText is one job of a set.
	JobText = roster.JobText
)

// States in which a replica describes itself.
const (
	StateReady    = roster.StateReady
	StateWaiting  = roster.StateWaiting
	StateSkewed   = roster.StateSkewed
	StateDraining = roster.StateDraining
	StateStopped  = roster.StateStopped
)

const (
	// SeenLately is how long a replica stays on the roster after its last beat.
	SeenLately = roster.SeenLately
	// MaxDefinition is how many bytes of a definition are published.
	MaxDefinition = roster.MaxDefinition
	// MaxJobSet bounds what is written down of the jobs of a set that is kept.
	MaxJobSet = roster.MaxJobSet
)

// ErrNoJobSet is returned for a set that nobody has kept, or nobody for a day.
var ErrNoJobSet = roster.ErrNoJobSet

// Versions sorts out what is published: of each job the versions that replicas
// serve now or, if there are none, the last one.
func Versions(published []JobInfo, live []Replica) []Version { return roster.Versions(published, live) }

// ServedBy names a live replica that may still serve one of the published
// versions of a job, "" if none does. A job may be forgotten only then.
func ServedBy(versions []JobInfo, live []Replica, now time.Time) string {
	return roster.ServedBy(versions, live, now)
}

// PackJobs writes a set of so many jobs, in the order of their keys, for UnpackJobs.
// Of a set that is too large it says only how many there are.
func PackJobs(count int, jobs iter.Seq[JobText]) ([]byte, error) {
	return roster.PackJobs(count, jobs)
}

// UnpackJobs reads what PackJobs wrote. Numbers in settings are json.Numbers.
func UnpackJobs(packed []byte) (JobSet, error) { return roster.UnpackJobs(packed) }
