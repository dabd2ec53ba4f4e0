package listing

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// A RecentQuery selects entries of all jobs, newest first.
type RecentQuery struct {
	Limit int // at most so many; required
	// Ticks asks for one entry per tick instead of one per run.
	Ticks bool
	// After is where an earlier page ended.
	After Cursor
	// Since, unless zero, leaves out entries whose order key is before it.
	Since time.Time
	// Outcomes and Triggers, unless empty, leave out entries with others.
	Outcomes []scheduler.Outcome
	Triggers []scheduler.Trigger
	// Reasons, unless empty, leave out entries whose reason has none of these codes.
	Reasons []scheduler.Code
}

// A Page is a part of a listing.
type Page struct {
	Entries []scheduler.Entry
	// Next is where the next page begins, zero if there is none. A page may have
	// fewer entries than asked for, even none, and still have a next one: then
	// none of the many that were looked at was wanted.
	Next Cursor
}

// lookedAt is about how many entries a page looks at, for each that it may have,
// where not all are wanted.
const lookedAt = 10

// Recent returns the latest entries of all jobs: it asks when each was heard of
// last, and reads short stretches of those that may have some of the latest. What it
// costs grows with the limit and, a little, with the number of jobs, not with what
// there is. Ticks that nobody could record are not among them. With a
// *scheduler.PartialError jobs are missing.
func (r Reader) Recent(ctx context.Context, q RecentQuery) (Page, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return Page{}, err
	}
	m, err := r.newMerge(ctx, d, q)
	if err != nil {
		return Page{}, err
	}
	for jobs, floor := m.lacking(); len(jobs) > 0; jobs, floor = m.lacking() {
		if err := m.read(ctx, r.Ledger, d, jobs, floor); err != nil {
			return Page{}, err
		}
	}
	return m.page(), m.gap
}

// Page returns the latest entries of the named job, with the ticks that nobody
// could record if q.Ticks is set.
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
		list = slices.DeleteFunc(list, func(e scheduler.Entry) bool { return !q.After.reaches(e) })
		slices.SortStableFunc(list, newestFirst)
		switch {
		case len(list) > q.Limit:
			return Page{Entries: list[:q.Limit], Next: behind(list[q.Limit-1])}, nil
		case whole:
			return Page{Entries: list}, nil
		}
	}
}

// picky tells whether entries may be looked at that are not wanted.
func (q RecentQuery) picky() bool { return !q.Ticks || q.filter().Filters() }

// filter is what is asked of each entry.
func (q RecentQuery) filter() scheduler.Query {
	return scheduler.Query{Outcomes: q.Outcomes, Triggers: q.Triggers, Reasons: q.Reasons}
}

// wants tells whether an entry is one of those that are asked for.
func (q RecentQuery) wants(e scheduler.Entry) bool {
	return (q.Ticks || e.Outcome.Ran()) && q.filter().Wants(e)
}
