package ledger

import (
	"context"
	"slices"
	"time"
)

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
