package listing

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A merge puts what was read of all jobs together, and finds out of which more has
// to be read.
type merge struct {
	query RecentQuery
	gap   error // why jobs are missing
	jobs  []*history
	known []item
	// looked is how many entries were read, and how many stretches.
	looked int
	start  time.Time // of the first stretch
}

// A history is what is known of one job.
type history struct {
	key, name string
	rest      time.Time // where the newest entry is that was not read; zero: all were
	size      int       // of the next stretch
}

// An item is an entry, or stands for all that were not read of a job: it comes right
// before the first that may be.
type item struct {
	scheduler.Entry
	of *history // nil: an entry
}

// Sizes of the stretches that are read of a job: of the first one, and how many times
// as long the next one is. Most have one entry among the latest, busy ones many.
const (
	firstStretch  = 4
	stretchFactor = 4
)

// newMerge asks where each job begins.
func (r Reader) newMerge(ctx context.Context, d Directory, q RecentQuery) (*merge, error) {
	m := &merge{query: q, gap: d.Gap}
	for _, key := range d.Keys {
		h := &history{key: key, name: d.Last[key].Name, rest: q.After.at}
		if q.After.passed(h.name) {
			h.rest = h.rest.Add(-1)
		}
		m.jobs = append(m.jobs, h)
	}
	if err := m.read(ctx, r.Ledger, d, m.jobs, q.Since); err != nil {
		return nil, err
	}
	m.looked = 0
	for _, h := range m.jobs {
		m.start = later(m.start, h.rest)
	}
	return m, nil
}

// read takes one more stretch of each of some jobs, which ends at floor.
func (m *merge) read(ctx context.Context, ledger scheduler.Skimmer, d Directory, jobs []*history, floor time.Time) error {
	ask := make([]scheduler.Stretch, len(jobs))
	for i, h := range jobs {
		ask[i] = scheduler.Stretch{Job: h.key, NotAfter: h.rest, Since: floor, Limit: h.size}
		h.size = max(firstStretch, stretchFactor*h.size)
	}
	skimmed, err := ledger.Skim(ctx, ask, m.query.Ticks)
	if Whole(err) != nil {
		return err
	}
	if err != nil {
		m.gap = err
	}
	for i, s := range skimmed {
		jobs[i].rest = s.Rest
		if s.Rest.Before(m.query.Since) {
			jobs[i].rest = time.Time{}
		}
		m.looked += len(s.Entries) + 1
		for _, e := range s.Entries {
			if e = d.named(e); m.query.After.reaches(e) && !e.OrderKey().Before(m.query.Since) {
				m.known = append(m.known, item{Entry: e})
			}
		}
	}
	return nil
}

func later(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

// all lists what is known and what stands for the rest, newest first, and how much of
// it comes before anything that was not read.
func (m *merge) all() (all []item, settled int) {
	all = slices.Clone(m.known)
	for _, h := range m.jobs {
		if !h.rest.IsZero() {
			all = append(all, item{of: h, Entry: scheduler.Entry{Job: h.name, Tick: h.rest, Token: locking.Token(math.MaxUint64)}})
		}
	}
	slices.SortStableFunc(all, func(x, y item) int { return newestFirst(x.Entry, y.Entry) })
	settled = slices.IndexFunc(all, func(i item) bool { return i.of != nil })
	if settled < 0 {
		settled = len(all)
	}
	return all, settled
}

// lacking returns the jobs that may have more of the wanted entries than are known,
// and the earliest time at which these may be.
func (m *merge) lacking() (jobs []*history, floor time.Time) {
	all, settled := m.all()
	window := m.query.Limit
	if m.query.picky() {
		if m.enough(all, settled) {
			return nil, floor
		}
		window = settled + m.query.Limit
		if m.looked > 0 || m.query.filter().Filters() {
			window = settled + 4*m.query.Limit // little of it may be wanted
		}
	}
	floor = m.query.Since
	if window <= len(all) {
		floor = later(floor, all[window-1].OrderKey())
	}
	for _, i := range all[:min(window, len(all))] {
		if i.of != nil {
			jobs = append(jobs, i.of)
		}
	}
	return jobs, floor
}

// enough tells whether a page of which not all is wanted is full, or has looked at so
// much that the next one goes on.
func (m *merge) enough(all []item, settled int) bool {
	wanted := 0
	for _, i := range all[:settled] {
		if m.query.wants(i.Entry) {
			wanted++
		}
	}
	moved := settled == len(all) || all[settled].Tick.Before(m.start)
	return wanted >= m.query.Limit || moved && m.looked >= lookedAt*m.query.Limit
}

// page chooses from what was read.
func (m *merge) page() Page {
	all, settled := m.all()
	p := Page{Entries: []scheduler.Entry{}}
	for i, one := range all[:settled] {
		if m.query.wants(one.Entry) {
			p.Entries = append(p.Entries, one.Entry)
		}
		if len(p.Entries) == m.query.Limit {
			if i < len(all)-1 {
				p.Next = behind(one.Entry)
			}
			return p
		}
	}
	if settled < len(all) {
		p.Next = behind(all[settled].Entry)
	}
	return p
}
