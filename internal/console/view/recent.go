package view

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An EntryQuery selects entries, newest first.
type EntryQuery struct {
	Limit int    // required
	Job   string // the current or former name of a job; "": of all jobs
	// Each applies the limit to each job, and adds computed ticks. It is for all jobs, and for a
	// service that reads the store itself.
	Each bool
	// Ticks asks for one entry per tick instead of one per run.
	Ticks bool
	// After is the end of the page before. Without it, Before leaves out entries from then on.
	After  Cursor
	Before time.Time
	// Since, if set, leaves out entries whose order key is before it.
	Since time.Time
	// Outcomes and Triggers, if set, leave out entries with others.
	Outcomes []ledger.Outcome
	Triggers []ledger.Trigger
	// Reasons, if set, leave out entries with other reason codes.
	Reasons []ledger.Code
}

// An EntryPage is a part of a listing.
type EntryPage struct {
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
func (r Reader) Recent(ctx context.Context, q EntryQuery) (EntryPage, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return EntryPage{}, err
	}
	m, err := newMerge(ctx, r, d, q)
	if err != nil {
		return EntryPage{}, err
	}
	for jobs, floor := m.incomplete(); len(jobs) > 0; jobs, floor = m.incomplete() {
		if err := m.read(ctx, r.Records.Ledger, d, jobs, floor); err != nil {
			return EntryPage{}, err
		}
	}
	return m.page(), nil
}

// jobPage returns the latest entries of the named job. With q.Ticks it includes computed
// ticks, which no replica recorded.
func (r Reader) jobPage(ctx context.Context, q EntryQuery) (EntryPage, error) {
	for limit := q.Limit + 1; ; limit *= 2 {
		wanted := q.filter()
		wanted.Limit, wanted.Before = limit, q.After.before()
		list, err := r.entriesOf(ctx, q.Job, q.Ticks, wanted)
		if err != nil {
			return EntryPage{}, err
		}
		whole := len(list) < limit
		list = slices.DeleteFunc(list, func(e ledger.Entry) bool { return !q.After.isBefore(e) })
		slices.SortStableFunc(list, newestFirst)
		switch {
		case len(list) > q.Limit:
			return EntryPage{Entries: list[:q.Limit], Next: cursorAfter(list[q.Limit-1])}, nil
		case whole:
			return EntryPage{Entries: list}, nil
		}
	}
}

// Filters reports whether the query may leave out entries by what they say.
func (q EntryQuery) Filters() bool { return q.filter().Filters() }

// selective reports whether the query may leave out entries that were read.
func (q EntryQuery) selective() bool { return !q.Ticks || q.Filters() }

// filter returns the query of a ledger without its job, its page and its end.
func (q EntryQuery) filter() ledger.Query {
	return ledger.Query{Since: q.Since, Outcomes: q.Outcomes, Triggers: q.Triggers, Reasons: q.Reasons}
}

// wants reports whether an entry matches the query.
func (q EntryQuery) wants(e ledger.Entry) bool {
	return (q.Ticks || e.Ran()) && q.filter().Wants(e)
}

// A merge combines what was read of all jobs, and finds the jobs to read more of.
type merge struct {
	query EntryQuery
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
	restOf *history // of a placeholder; nil: an entry
}

// Sizes of the stretches that are read of a job: the first, and the growth of the next.
// Most jobs have one entry among the latest, busy ones many.
const (
	firstStretch  = 4
	stretchFactor = 4
)

// newMerge finds the newest entry of each job.
func newMerge(ctx context.Context, r Reader, d Directory, q EntryQuery) (*merge, error) {
	m := &merge{query: q}
	for _, key := range d.Keys {
		h := &history{key: key, name: d.Last[key].Name, unread: q.After.at}
		if q.After.passed(h.name) {
			h.unread = h.unread.Add(-1)
		}
		m.jobs = append(m.jobs, h)
	}
	if err := m.read(ctx, r.Records.Ledger, d, m.jobs, q.Since); err != nil {
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
			if e = d.named(e); m.query.After.isBefore(e) && !e.OrderKey().Before(m.query.Since) {
				m.known = append(m.known, item{Entry: e})
			}
		}
	}
	return nil
}

// all lists entries and placeholders, newest first. Settled counts the entries before
// the first placeholder.
func (m *merge) all() (all []item, settled int) {
	all = slices.Clone(m.known)
	for _, h := range m.jobs {
		if !h.unread.IsZero() {
			all = append(all, item{restOf: h, Entry: ledger.Entry{Job: h.name, Tick: h.unread, Token: locking.Token(math.MaxUint64)}})
		}
	}
	slices.SortStableFunc(all, func(x, y item) int { return newestFirst(x.Entry, y.Entry) })
	settled = slices.IndexFunc(all, func(i item) bool { return i.restOf != nil })
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
		if m.scanned > 0 || m.query.Filters() {
			window = settled + 4*m.query.Limit // little of it may be wanted
		}
	}
	floor = m.query.Since
	if window <= len(all) {
		floor = later(floor, all[window-1].OrderKey())
	}
	for _, i := range all[:min(window, len(all))] {
		if i.restOf != nil {
			jobs = append(jobs, i.restOf)
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
func (m *merge) page() EntryPage {
	all, settled := m.all()
	p := EntryPage{Entries: []ledger.Entry{}}
	for i, one := range all[:settled] {
		if m.query.wants(one.Entry) {
			p.Entries = append(p.Entries, one.Entry)
		}
		if len(p.Entries) == m.query.Limit {
			if i < len(all)-1 {
				p.Next = cursorAfter(one.Entry)
			}
			return p
		}
	}
	if settled < len(all) {
		p.Next = cursorAfter(all[settled].Entry)
	}
	return p
}

// A Cursor is a position in a listing: right after one entry. The zero Cursor is the
// beginning.
type Cursor struct {
	at     time.Time
	job    string
	token  locking.Token
	stream string
}

// ErrCursor is returned for a text that is not a Cursor.
var ErrCursor = errors.New("not a cursor that a listing has returned")

// cursorAfter returns the position right after an entry.
func cursorAfter(e ledger.Entry) Cursor {
	return Cursor{e.OrderKey(), e.Job, e.Token, e.Stream}
}

// Until returns the position before all entries with an order key before t.
func Until(t time.Time) Cursor {
	if t.IsZero() {
		return Cursor{}
	}
	last := t.Truncate(time.Millisecond)
	if last.Equal(t) {
		last = last.Add(-time.Millisecond) // a partial millisecond is included
	}
	return Cursor{at: last, token: math.MaxUint64}
}

// IsZero reports whether the cursor is the beginning.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// isBefore reports whether the cursor is before an entry.
func (c Cursor) isBefore(e ledger.Entry) bool {
	return c.IsZero() || newestFirst(ledger.Entry{Tick: c.at, Job: c.job, Token: c.token, Stream: c.stream}, e) < 0
}

// passed reports whether the cursor is past all entries of a job at its own instant.
func (c Cursor) passed(job string) bool { return !c.IsZero() && job < c.job }

// before is the Query.Before that includes every entry after the cursor.
func (c Cursor) before() time.Time {
	if c.IsZero() {
		return time.Time{}
	}
	return c.at.Add(time.Millisecond)
}

// String encodes the cursor for ParseCursor; "" for the zero one.
func (c Cursor) String() string {
	if c.IsZero() {
		return ""
	}
	text := strings.Join([]string{strconv.FormatInt(c.at.UnixMilli(), 10), strconv.FormatUint(uint64(c.token), 10), c.stream, c.job}, "|")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// ParseCursor decodes what String returned.
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Cursor{}, ErrCursor
	}
	parts := strings.SplitN(string(raw), "|", 4)
	if len(parts) != 4 {
		return Cursor{}, ErrCursor
	}
	at, atErr := strconv.ParseInt(parts[0], 10, 64)
	token, err := strconv.ParseUint(parts[1], 10, 64)
	if errors.Join(atErr, err) != nil {
		return Cursor{}, ErrCursor
	}
	return Cursor{time.UnixMilli(at).UTC(), parts[3], locking.Token(token), parts[2]}, nil
}

// newestFirst orders entries of several jobs.
func newestFirst(x, y ledger.Entry) int {
	return cmp.Or(y.OrderKey().Compare(x.OrderKey()), cmp.Compare(x.Job, y.Job), cmp.Compare(y.Token, x.Token), cmp.Compare(x.Stream, y.Stream))
}
