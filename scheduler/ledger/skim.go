package ledger

import (
	"context"
	"time"
)

// A Stretch is a part of what a ledger keeps of one job, in all streams, from some
// order key on down.
type Stretch struct {
	Job string
	// NotAfter, unless zero, leaves out what has a later order key.
	NotAfter time.Time
	// Since, unless zero, ends the stretch before the first entry with an earlier
	// order key, and Limit after about so many. With Limit 0 only where it would
	// begin is asked for.
	Since time.Time
	Limit int
}

// A Skimmed is what was read of a stretch.
type Skimmed struct {
	// Entries are all of the stretch whose order key is after Rest, newest first.
	Entries []Entry
	// Rest is the order key of the newest entry that was not read, so that the next
	// stretch begins there; zero if there is none. It may name one that is no entry
	// when looked at: the claim of an attempt that lost.
	Rest time.Time
	// Trimmed is the latest order key of which the ledger has dropped an entry of the job,
	// in whatever stretch; zero: none. Nobody knows all that was said of ticks up to it.
	Trimmed time.Time
}

// A Skimmer reads stretches of many jobs at once, in as few calls of those who keep
// them as it can. What that costs depends on how many jobs there are, and on the
// limits, not on how much is kept.
type Skimmer interface {
	// Skim returns what there is of each stretch: with perTick one entry per tick as
	// Store.Ticks does, else one per claim as Store.Runs does and one for each tick
	// that was recorded not to run. Errors are those of a Store, or a *PartialError:
	// then there is nothing of some jobs.
	Skim(ctx context.Context, stretches []Stretch, perTick bool) ([]Skimmed, error)
}

// SkimOf cuts the stretch out of all entries of its job, sorted newest first.
func SkimOf(sorted []Entry, s Stretch) Skimmed {
	var some Skimmed
	for _, e := range sorted {
		key := e.OrderKey()
		if !s.NotAfter.IsZero() && key.After(s.NotAfter) {
			continue
		}
		if len(some.Entries) == s.Limit || key.Before(s.Since) {
			some.Rest = key
			break
		}
		some.Entries = append(some.Entries, e)
	}
	for n := len(some.Entries); n > 0 && !some.Rest.IsZero() && !some.Entries[n-1].OrderKey().After(some.Rest); n-- {
		some.Entries = some.Entries[:n-1]
	}
	return some
}
