package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
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
