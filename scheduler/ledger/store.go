package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// A Query selects entries of one job, in all streams, newest order key first.
type Query struct {
	Job   string
	Limit int // at most so many; required
	// Before, unless zero, omits ticks whose order key is not before it; Since those whose
	// order key is.
	Before, Since time.Time
	// Outcomes and Triggers, unless empty, omit entries with others.
	Outcomes []Outcome
	Triggers []Trigger
	// Reasons, unless empty, omit entries without any of these codes.
	Reasons []Code
}

// Wants reports whether the query selects an entry like e of its job.
func (q Query) Wants(e Entry) bool {
	return (q.Before.IsZero() || e.OrderKey().Before(q.Before)) && !e.OrderKey().Before(q.Since) &&
		(len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, e.Outcome)) &&
		(len(q.Triggers) == 0 || slices.Contains(q.Triggers, e.Trigger)) &&
		(len(q.Reasons) == 0 || slices.ContainsFunc(q.Reasons, e.Reason.Has))
}

// Filters reports whether the query selects by contents.
func (q Query) Filters() bool {
	return len(q.Outcomes)+len(q.Triggers)+len(q.Reasons) > 0
}

// A Store keeps the outcome of every tick. Runs enter it with the claim and its release,
// which carry an encoded Entry as their note (EncodeNote), so a Store reads what a Locker
// wrote.
type Store interface {
	// Record stores a tick that did not run. The record with the highest rank stays. It
	// returns no error when a quorum has it, locking.ErrNoQuorum otherwise; recording again
	// is harmless. At most one replica learns that its record was the first of the tick.
	Record(ctx context.Context, e Entry) (first bool, err error)

	// Runs returns one entry per claim of the job's ticks.
	// A start without a finish is Running while its lease lasts, then
	// Interrupted. It returns locking.ErrNoQuorum when too few nodes answered
	// to be sure of every entry.
	Runs(ctx context.Context, q Query) ([]Entry, error)

	// Ticks returns one entry per tick of each stream: its last run, or its record if it
	// did not run.
	Ticks(ctx context.Context, q Query) ([]Entry, error)
}

// A Rememberer is a Store that may lose its memory. It is for implementations of Store.
type Rememberer interface {
	Store
	// RemembersSince is the local time since which the ledger has all records; false:
	// unknown.
	RemembersSince() (time.Time, bool)
}

// ErrNoLog is returned by Archive.Log if no log is stored.
var ErrNoLog = errors.New("no log of this run is kept")

// An Archive keeps the logs of runs, apart from the ledger, whose listings stay small. It
// also drops logs and ledger entries beyond a job's History. Dropping is safe at any time:
// claims do not depend on the Archive or on the ledger's entries.
type Archive interface {
	// Store stores the given logs, and drops those of the job's logs and ledger entries
	// that h does not keep, oldest ticks first. The entry of the newest tick always stays.
	// It returns nil when a quorum has done so, locking.ErrNoQuorum otherwise; storing
	// again is harmless.
	Store(ctx context.Context, job string, h jobs.History, logs ...Log) error

	// Log returns the log of the run with that order key and token; ErrNoLog if none is
	// stored, locking.ErrNoQuorum when too few nodes answered.
	Log(ctx context.Context, job string, tick time.Time, token locking.Token) (Log, error)
}

// A Stretch is a part of a job's entries, in all streams, from an order key downwards.
type Stretch struct {
	Job string
	// NotAfter, unless zero, omits later order keys.
	NotAfter time.Time
	// Since, unless zero, ends the stretch before the first entry with an earlier order
	// key, and Limit after about that many. With Limit 0 only its begin is read.
	Since time.Time
	Limit int
}

// A Skimmed is the content of a stretch.
type Skimmed struct {
	// Entries are all of the stretch whose order key is after Rest, newest first.
	Entries []Entry
	// Rest is the order key of the newest entry that was not read, where the next stretch
	// begins; zero if there is none. It may be the claim of a lost attempt, which is no
	// entry.
	Rest time.Time
	// Trimmed is the latest order key with a dropped entry of the job, in any stretch;
	// zero: none. Records of ticks up to it may be missing.
	Trimmed time.Time
	// TrimmedSuccess and TrimmedFailure are the order keys of the newest dropped runs that
	// recorded such an end, see [Outcome.Failure]; zero: unknown. An entry that is still stored
	// may be newer.
	TrimmedSuccess, TrimmedFailure time.Time
}

// A Skimmer reads stretches of many jobs at once, in as few calls as possible. The cost
// depends on the number of jobs and the limits, not on the number of stored entries.
type Skimmer interface {
	// Skim returns the entries of each stretch: with perTick one per tick like Store.Ticks,
	// else one per claim like Store.Runs and one for each tick without a run. Errors are
	// those of a Store.
	Skim(ctx context.Context, stretches []Stretch, perTick bool) ([]Skimmed, error)
	// Search returns, one per tick, the entries of each stretch that are not [Entry.Plain]. It
	// looks at about LookedAt times Limit entries and returns at most Limit. If a tick
	// has more records than that, it is the Rest again: then ask with a larger Limit.
	Search(ctx context.Context, stretches []Stretch) ([]Skimmed, error)
}

// LookedAt is how many entries a Search looks at for each that it may return.
const LookedAt = 16

// Searched leaves out plain entries of a list, one per tick, newest first, and those beyond the
// limit.
func (s Skimmed) Searched(limit int) Skimmed {
	s.Entries = slices.DeleteFunc(s.Entries, Entry.Plain)
	if len(s.Entries) > limit {
		s.Rest = s.Entries[limit].OrderKey()
		s.Entries = slices.DeleteFunc(s.Entries, func(e Entry) bool { return !e.OrderKey().After(s.Rest) })
	}
	return s
}
