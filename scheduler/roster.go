package scheduler

import (
	"errors"
	"iter"
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
)

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
