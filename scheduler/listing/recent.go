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
}

// A Page is a part of a listing.
type Page struct {
	Entries []scheduler.Entry
	// Next is where the next page begins, zero if there is none. A page may have
	// fewer entries than asked for, even none, and still have a next one: then
	// none of the many that were looked at was wanted.
	Next Cursor
}

// lookedAt is how many entries a page with a filter looks at, for each that it may
// have.
const lookedAt = 10

// Recent returns the latest entries of all jobs: one short read of each, and longer
// ones only of those that may have more of the latest. What it costs grows with the
// number of jobs and with the limit, not with what there is. Ticks that nobody could
// record are not among them. With a *scheduler.PartialError jobs are missing.
func (r Reader) Recent(ctx context.Context, q RecentQuery) (Page, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return Page{}, err
	}
	m := merge{query: q, want: q.Limit}
	if q.filters() {
		m.want = lookedAt * q.Limit
	}
	for _, key := range d.Keys {
		m.jobs = append(m.jobs, &stretch{key: key})
	}
	read := r.Ledger.Runs
	if q.Ticks {
		read = r.Ledger.Ticks
	}
	for ask := m.lacking(); len(ask) > 0; ask = m.lacking() {
		err := inParallel(ctx, len(ask), func(ctx context.Context, i int) error {
			s := ask[i]
			list, err := read(ctx, scheduler.Query{Job: s.key, Limit: s.grow(), Before: q.After.before(), Since: q.Since})
			s.take(d.namedAll(list), q.After)
			return err
		})
		if err != nil {
			return Page{}, err
		}
	}
	return m.page(), d.Gap
}

// Page returns the latest entries of the named job, with the ticks that nobody
// could record if q.Ticks is set.
func (r Reader) Page(ctx context.Context, job string, q RecentQuery) (Page, error) {
	read := r.Runs
	if q.Ticks {
		read = r.Ticks
	}
	for limit := q.Limit + 1; ; limit *= 2 {
		list, err := read(ctx, job, scheduler.Query{
			Limit: limit, Before: q.After.before(), Since: q.Since, Outcomes: q.Outcomes, Triggers: q.Triggers,
		})
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

func (q RecentQuery) filters() bool { return len(q.Outcomes)+len(q.Triggers) > 0 }

// wants tells whether the filters let an entry pass.
func (q RecentQuery) wants(e scheduler.Entry) bool {
	return scheduler.Query{Outcomes: q.Outcomes, Triggers: q.Triggers}.Wants(e)
}

// A stretch is the latest entries of one job, as far as they were read.
type stretch struct {
	key      string
	limit    int // of the last read
	entries  []scheduler.Entry
	complete bool // there are no others
}

// grow is the limit of the next read. The first one is two: where jobs tick at
// common instants, the second entry shows that there are no more of the latest.
func (s *stretch) grow() int {
	const factor = 8
	s.limit = max(2, s.limit*factor)
	return s.limit
}

// take keeps what a read of the stretch has returned.
func (s *stretch) take(list []scheduler.Entry, after Cursor) {
	s.complete = len(list) < s.limit
	s.entries = slices.DeleteFunc(list, func(e scheduler.Entry) bool { return !after.reaches(e) })
	slices.SortStableFunc(s.entries, newestFirst) // within an instant by token
}

// A merge puts the stretches of all jobs together.
type merge struct {
	query RecentQuery
	want  int // so many entries are looked at
	jobs  []*stretch
}

// all returns the entries known so far.
func (m merge) all() []scheduler.Entry {
	var all []scheduler.Entry
	for _, s := range m.jobs {
		all = append(all, s.entries...)
	}
	slices.SortStableFunc(all, newestFirst)
	return all
}

// lacking returns the jobs that may have more of the wanted entries than are known:
// those whose oldest known one is among them and not the last.
func (m merge) lacking() []*stretch {
	all := m.all()
	var lacking []*stretch
	for _, s := range m.jobs {
		n := len(s.entries)
		if !s.complete && (n == 0 || len(all) < m.want || newestFirst(s.entries[n-1], all[m.want-1]) < 0) {
			lacking = append(lacking, s)
		}
	}
	return lacking
}

// page chooses from what was read.
func (m merge) page() Page {
	all := m.all()
	more := len(all) > m.want || slices.ContainsFunc(m.jobs, func(s *stretch) bool { return !s.complete })
	all = all[:min(len(all), m.want)]
	p := Page{Entries: []scheduler.Entry{}}
	for i, e := range all {
		if m.query.wants(e) {
			p.Entries = append(p.Entries, e)
		}
		if len(p.Entries) == m.query.Limit && (more || i < len(all)-1) {
			p.Next = behind(e)
			return p
		}
	}
	if more && len(all) > 0 {
		p.Next = behind(all[len(all)-1])
	}
	return p
}
