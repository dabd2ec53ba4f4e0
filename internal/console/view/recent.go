package view

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A RecentQuery selects entries of all jobs, newest first.
type RecentQuery struct {
	Limit int // required
	// Ticks asks for one entry per tick instead of one per run.
	Ticks bool
	// After is the end of the page before.
	After Cursor
	// Since, if set, leaves out entries whose order key is before it.
	Since time.Time
	// Outcomes and Triggers, if set, leave out entries with others.
	Outcomes []ledger.Outcome
	Triggers []ledger.Trigger
	// Reasons, if set, leave out entries with other reason codes.
	Reasons []ledger.Code
}

// A Page is a part of a listing.
type Page struct {
	Entries []ledger.Entry
	// Next is the start of the next page, zero on the last one. A page with a next one
	// may have fewer entries than Limit, even none: then too many did not match.
	Next Cursor
}

// scannedPerEntry bounds a filtered page: about so many entries are read per wanted entry.
const scannedPerEntry = 10

// Recent returns the latest entries of all jobs. It asks for the newest entry of each
// job, then reads short stretches of the jobs that may be on the page. The cost grows
// with the limit and slowly with the number of jobs, not with the history. Computed
// ticks are not included.
func (r Reader) Recent(ctx context.Context, q RecentQuery) (Page, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return Page{}, err
	}
	m, err := newMerge(ctx, r, d, q)
	if err != nil {
		return Page{}, err
	}
	for jobs, floor := m.incomplete(); len(jobs) > 0; jobs, floor = m.incomplete() {
		if err := m.read(ctx, r.Ledger, d, jobs, floor); err != nil {
			return Page{}, err
		}
	}
	return m.page(), nil
}

// Page returns the latest entries of the named job. With q.Ticks it includes computed
// ticks, which no replica recorded.
func (r Reader) Page(ctx context.Context, job string, q RecentQuery) (Page, error) {
	read := r.Runs
	if q.Ticks {
		read = r.Ticks
	}
	for limit := q.Limit + 1; ; limit *= 2 {
		wanted := q.filter()
		wanted.Limit, wanted.Before, wanted.Since = limit, q.After.before(), q.Since
		list, err := read(ctx, job, wanted)
		if err != nil {
			return Page{}, err
		}
		whole := len(list) < limit
		list = slices.DeleteFunc(list, func(e ledger.Entry) bool { return !q.After.reaches(e) })
		slices.SortStableFunc(list, newestFirst)
		switch {
		case len(list) > q.Limit:
			return Page{Entries: list[:q.Limit], Next: behind(list[q.Limit-1])}, nil
		case whole:
			return Page{Entries: list}, nil
		}
	}
}

// selective reports whether the query may leave out entries that were read.
func (q RecentQuery) selective() bool { return !q.Ticks || q.filter().Filters() }

// filter returns the filters of the query.
func (q RecentQuery) filter() ledger.Query {
	return ledger.Query{Outcomes: q.Outcomes, Triggers: q.Triggers, Reasons: q.Reasons}
}

// wants reports whether an entry matches the query.
func (q RecentQuery) wants(e ledger.Entry) bool {
	return (q.Ticks || e.Ran()) && q.filter().Wants(e)
}
