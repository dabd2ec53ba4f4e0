package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Runs implements [ledger.Store].
func (l *Ledger) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.collect(ctx, q, func(list []ledger.Entry) []ledger.Entry {
		return slices.DeleteFunc(list, func(e ledger.Entry) bool { return !e.Ran() })
	})
}

// Ticks implements [ledger.Store].
func (l *Ledger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return l.collect(ctx, q, ledger.OnePerTick)
}

// collect reads entries page by page, newest ticks first, up to the limit. A filter may omit
// many, so pages grow.
func (l *Ledger) collect(ctx context.Context, q ledger.Query, choose func([]ledger.Entry) []ledger.Entry) ([]ledger.Entry, error) {
	found := []ledger.Entry{}
	s := span{job: q.Job, latest: lastBefore(q.Before), since: q.Since, most: min(q.Limit+q.Limit/4+2, pageRows)}
	for len(found) < q.Limit {
		pages, err := l.pages(ctx, []span{s})
		if err != nil {
			return nil, err
		}
		p := pages[0]
		if s.most < pageRows || len(p.entries) == 0 { // a tick may fill a page
			s.most *= 2
		}
		for _, e := range choose(p.entries) {
			if q.Wants(e) {
				found = append(found, e)
			}
		}
		if p.rest.IsZero() || p.rest.Before(q.Since) {
			break
		}
		s.latest = p.rest
	}
	return found[:min(len(found), q.Limit)], nil
}

// lastBefore is the latest millisecond before the time; zero without one.
func lastBefore(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.UnixMilli(t.Add(-1).UnixMilli())
}

// A span is a part of a job's entries that is read in one call.
type span struct {
	job           string
	latest, since time.Time // zero: no bound
	most          int
}

// A page is the content of a span.
type page struct {
	entries []ledger.Entry // sorted
	// rest is the tick of the newest entry that was not read; zero if there is none. The
	// page has all entries of later ticks, and no others.
	rest    time.Time
	trimmed time.Time // the latest tick with a dropped entry; zero if there is none
}

// ranges are what is read for a span.
func (s span) ranges() []kv.Range {
	from := "0" // before all ticks
	if !s.latest.IsZero() {
		from = records.EntryOrder(s.latest.UnixMilli())
	}
	entries := kv.Between(kv.Entries, s.job, from, "")
	entries.Limit = s.most + 1
	return []kv.Range{kv.Of(kv.Claims, s.job), kv.Of(kv.Leases, s.job), kv.Only(pastKey(s.job)), entries}
}

// pages reads several spans, all from one moment.
func (l *Ledger) pages(ctx context.Context, spans []span) ([]page, error) {
	doing := "reading the ledger of " + spans[0].job
	if len(spans) > 1 {
		doing += fmt.Sprintf(" and %d more jobs", len(spans)-1)
	}
	var ranges []kv.Range
	for _, s := range spans {
		ranges = append(ranges, s.ranges()...)
	}
	lists, stamp, err := l.list(ctx, doing, append(ranges, kv.Only(records.LifeKey()))...)
	if err != nil {
		return nil, err
	}
	l.remember(first(lists[len(ranges)]), stamp)
	pages := make([]page, len(spans))
	for i, s := range spans {
		pages[i] = l.page(s, [4][]kv.Record(lists[4*i:]), records.AsOf(stamp, l.grace))
	}
	return pages, nil
}

// page makes a page of what was read for the span.
func (l *Ledger) page(s span, read [4][]kv.Record, now time.Time) (p page) {
	r := l.newRunning(read[0], read[1], now)
	gone, _ := decoded[past](l.access, first(read[2]))
	if gone.Trimmed != 0 {
		p.trimmed = time.UnixMilli(gone.Trimmed).UTC()
	}
	for i, record := range read[3] {
		stored, note := l.stored(record)
		if tick := time.UnixMilli(stored.Tick).UTC(); i == s.most || tick.Before(s.since) {
			p.rest = tick
			break
		}
		if stored.Kind == records.NotRun && stored.Tick <= gone.Trimmed {
			continue // a run of the tick may have been dropped
		}
		p.entries = append(p.entries, r.entry(s.job, stored, note))
	}
	p.entries = slices.DeleteFunc(p.entries, func(e ledger.Entry) bool { return !p.rest.IsZero() && !e.OrderKey().After(p.rest) })
	ledger.CountAttempts(p.entries)
	ledger.Sort(p.entries)
	return p
}

// skimJobs bounds the jobs of a call; pageRows bounds its entries.
const skimJobs = 250

// Skim implements [ledger.Skimmer].
func (l *Ledger) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	skimmed := make([]ledger.Skimmed, 0, len(stretches))
	for len(skimmed) < len(stretches) {
		pages, err := l.pages(ctx, portion(stretches[len(skimmed):]))
		if err != nil {
			return nil, err
		}
		for _, p := range pages {
			if perTick {
				p.entries = ledger.OnePerTick(p.entries)
			}
			skimmed = append(skimmed, ledger.Skimmed{Entries: p.entries, Rest: p.rest, Trimmed: p.trimmed})
		}
	}
	return skimmed, nil
}

// Search implements [ledger.Skimmer].
func (l *Ledger) Search(ctx context.Context, stretches []ledger.Stretch) ([]ledger.Skimmed, error) {
	ask := slices.Clone(stretches)
	for i := range ask {
		ask[i].Limit *= ledger.LookedAt
	}
	found, err := l.Skim(ctx, ask, true)
	for i := range found {
		found[i] = found[i].Searched(stretches[i].Limit)
	}
	return found, err
}

// portion returns the spans of as many stretches as one call reads, at least one.
func portion(stretches []ledger.Stretch) []span {
	var spans []span
	rows := 0
	for _, s := range stretches {
		if rows += s.Limit + 1; len(spans) > 0 && (len(spans) == skimJobs || rows > pageRows) {
			break
		}
		spans = append(spans, span{job: s.Job, latest: s.NotAfter, since: s.Since, most: s.Limit})
	}
	return spans
}

// running are the owners of a job's leases that count.
type running struct {
	owners map[string]bool
	// unknown: the claims or a lease cannot be read, so a run without an end may go on.
	unknown error
}

func (l *Ledger) newRunning(claims, leases []kv.Record, now time.Time) running {
	r := running{owners: map[string]bool{}}
	of, err := records.Decode[records.Claims](first(claims))
	r.skip(l.Unreadable, first(claims).Key, err)
	for _, record := range leases {
		lease, err := records.Decode[records.Lease](record)
		r.skip(l.Unreadable, record.Key, err)
		if lease.Of(of, now).Open() {
			r.owners[lease.Owner] = true
		}
	}
	return r
}

func (r *running) skip(u *unreadable.Log, k kv.Key, err error) {
	if err != nil {
		u.Skipped(k.String(), err)
		r.unknown = err
	}
}

// stored decodes a record of an entry. What cannot be read has the place that its key names, and
// Note is what is known of it.
func (l *Ledger) stored(r kv.Record) (stored records.Entry, note ledger.Entry) {
	stored, err := records.Decode[records.Entry](r)
	if err == nil && records.EntryKey(r.Key.Name, stored) != r.Key {
		err = fmt.Errorf("the record %s is that of another entry", r.Key)
	}
	if err == nil && !slices.Contains(records.Kinds(), stored.Kind) {
		err = fmt.Errorf("an entry of kind %q is unknown to this release: upgrade quorate", stored.Kind)
	}
	if err != nil {
		stored = records.EntryOf(r.Key)
	} else {
		note, err = ledger.DecodeNote(stored.Note)
	}
	if err != nil {
		l.Unreadable.Skipped(r.Key.String(), err)
		note = unreadable.Entry(err)
	}
	return stored, note
}

// entry is what a listing shows of a stored entry with a note.
func (r running) entry(job string, stored records.Entry, e ledger.Entry) ledger.Entry {
	e = e.Placed(job, stored.Stream, time.UnixMilli(stored.Tick).UTC())
	e.Token = locking.Token(stored.Token)
	switch stored.Kind {
	case records.Late:
		if e.Outcome != ledger.LeaseLost && e.Outcome != ledger.Unreadable { // else the run knew
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeLateEnd})
		}
	case records.Started:
		switch {
		case r.owners[stored.Owner]:
			e.Outcome = ledger.Running
		case r.unknown != nil:
			unknown := unreadable.Entry(r.unknown)
			e.Outcome, e.Reason = unknown.Outcome, unknown.Reason
		default:
			why := ledger.Reason{Code: ledger.CodeInterrupted}
			if e.Outcome == ledger.Unreadable {
				why = why.And(e.Reason)
			}
			e.Outcome, e.Reason = ledger.Interrupted, why
		}
	}
	return e
}

// first returns the only record of a list; one of version 0 if there is none.
func first(list []kv.Record) kv.Record {
	if len(list) == 0 {
		return kv.Record{}
	}
	return list[0]
}
