package ledger

import (
	"context"
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
}
