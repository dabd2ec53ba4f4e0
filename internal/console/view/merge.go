package view

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A merge combines what was read of all jobs, and finds the jobs to read more of.
type merge struct {
	query RecentQuery
	jobs  []*history
	known []item
	// scanned counts the entries and stretches that were read.
	scanned int
	start   time.Time // of the newest entry
}

// A history is what was read of one job.
type history struct {
	key, name string
	unread    time.Time // the newest entry that was not read; zero: all were read
	size      int       // of the next stretch
}

// An item is an entry, or a placeholder for the unread entries of a job. A placeholder
// sorts right before the first of them.
type item struct {
	ledger.Entry
	of *history // nil: an entry
}

// Sizes of the stretches that are read of a job: the first, and the growth of the next.
// Most jobs have one entry among the latest, busy ones many.
const (
	firstStretch  = 4
	stretchFactor = 4
)

// newMerge finds the newest entry of each job.
func newMerge(ctx context.Context, r Reader, d Directory, q RecentQuery) (*merge, error) {
	m := &merge{query: q}
	for _, key := range d.Keys {
		h := &history{key: key, name: d.Last[key].Name, unread: q.After.at}
		if q.After.passed(h.name) {
			h.unread = h.unread.Add(-1)
		}
		m.jobs = append(m.jobs, h)
	}
	if err := m.read(ctx, r.Ledger, d, m.jobs, q.Since); err != nil {
		return nil, err
	}
	m.scanned = 0
	for _, h := range m.jobs {
		m.start = later(m.start, h.unread)
	}
	return m, nil
}

// read reads one more stretch, down to floor, of each of the jobs.
func (m *merge) read(ctx context.Context, store ledger.Skimmer, d Directory, jobs []*history, floor time.Time) error {
	ask := make([]ledger.Stretch, len(jobs))
	for i, h := range jobs {
		ask[i] = ledger.Stretch{Job: h.key, NotAfter: h.unread, Since: floor, Limit: h.size}
		h.size = max(firstStretch, stretchFactor*h.size)
	}
	skimmed, err := store.Skim(ctx, ask, m.query.Ticks)
	if err != nil {
		return err
	}
	for i, s := range skimmed {
		jobs[i].unread = s.Rest
		if s.Rest.Before(m.query.Since) {
			jobs[i].unread = time.Time{}
		}
		m.scanned += len(s.Entries) + 1
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

// all lists entries and placeholders, newest first. Settled counts the entries before
// the first placeholder.
func (m *merge) all() (all []item, settled int) {
	all = slices.Clone(m.known)
	for _, h := range m.jobs {
		if !h.unread.IsZero() {
			all = append(all, item{of: h, Entry: ledger.Entry{Job: h.name, Tick: h.unread, Token: locking.Token(math.MaxUint64)}})
		}
	}
	slices.SortStableFunc(all, func(x, y item) int { return newestFirst(x.Entry, y.Entry) })
	settled = slices.IndexFunc(all, func(i item) bool { return i.of != nil })
	if settled < 0 {
		settled = len(all)
	}
	return all, settled
}

// incomplete returns the jobs that may have more entries for the page, and the earliest
// time to read down to.
func (m *merge) incomplete() (jobs []*history, floor time.Time) {
	all, settled := m.all()
	window := m.query.Limit
	if m.query.selective() {
		if m.pageFull(all, settled) {
			return nil, floor
		}
		window = settled + m.query.Limit
		if m.scanned > 0 || m.query.filter().Filters() {
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

// pageFull reports whether a filtered page is full, or has read so much that the rest is
// left to the next page.
func (m *merge) pageFull(all []item, settled int) bool {
	wanted := 0
	for _, i := range all[:settled] {
		if m.query.wants(i.Entry) {
			wanted++
		}
	}
	moved := settled == len(all) || all[settled].Tick.Before(m.start)
	return wanted >= m.query.Limit || moved && m.scanned >= scannedPerEntry*m.query.Limit
}

// page returns the settled entries that the query wants.
func (m *merge) page() Page {
	all, settled := m.all()
	p := Page{Entries: []ledger.Entry{}}
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
