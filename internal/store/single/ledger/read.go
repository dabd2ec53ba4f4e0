package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/listing"
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

// collect lists the entries that choose selects. A filter may omit many, so pages grow.
func (l *Ledger) collect(ctx context.Context, q ledger.Query, choose func([]ledger.Entry) []ledger.Entry) ([]ledger.Entry, error) {
	limit := min(q.Limit+q.Limit/4+2, pageRows)
	return listing.Collect(ctx, q, limit, func(ctx context.Context, s *ledger.Stretch) ([]ledger.Entry, time.Time, error) {
		pages, err := l.pages(ctx, []ledger.Stretch{*s})
		if err != nil {
			return nil, time.Time{}, err
		}
		p := pages[0]
		if s.Limit < pageRows || len(p.Entries) == 0 {
			s.Limit *= 2
		}
		return choose(p.Entries), p.Rest, nil
	})
}

// skimJobs bounds the jobs of a call; pageRows bounds its entries.
const skimJobs = 250

// Skim implements [ledger.Skimmer]. A call reads as many stretches as have about a page of
// entries, at least one.
func (l *Ledger) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	skimmed := make([]ledger.Skimmed, 0, len(stretches))
	for rest := stretches; len(rest) > 0; {
		n, rows := 1, rest[0].Limit+1
		for n < min(len(rest), skimJobs) && rows+rest[n].Limit+1 <= pageRows {
			rows += rest[n].Limit + 1
			n++
		}
		pages, err := l.pages(ctx, rest[:n])
		if err != nil {
			return nil, err
		}
		skimmed, rest = append(skimmed, pages...), rest[n:]
	}
	for i, p := range skimmed {
		if perTick {
			skimmed[i].Entries = ledger.OnePerTick(p.Entries)
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

// pages reads several stretches, all from one moment, with one entry for each claim.
func (l *Ledger) pages(ctx context.Context, stretches []ledger.Stretch) ([]ledger.Skimmed, error) {
	doing := "reading the ledger of " + stretches[0].Job
	if len(stretches) > 1 {
		doing += fmt.Sprintf(" and %d more jobs", len(stretches)-1)
	}
	var ranges []kv.Range
	for _, s := range stretches {
		from := "0" // before all ticks
		if !s.NotAfter.IsZero() {
			from = records.EntryOrder(s.NotAfter.UnixMilli())
		}
		entries := kv.Between(kv.Entries, s.Job, from, "")
		entries.Limit = s.Limit + 1
		ranges = append(ranges, kv.Of(kv.Claims, s.Job), kv.Of(kv.Leases, s.Job), kv.Only(pastKey(s.Job)), entries)
	}
	lists, stamp, err := l.list(ctx, doing, append(ranges, kv.Only(records.IncarnationKey()))...)
	if err != nil {
		return nil, err
	}
	l.remember(first(lists[len(ranges)]), stamp)
	pages := make([]ledger.Skimmed, len(stretches))
	for i, s := range stretches {
		pages[i] = l.page(s, [4][]kv.Record(lists[4*i:]), records.AsOf(stamp, l.grace))
	}
	return pages, nil
}

// page makes a page of what was read for a stretch: claims, leases, the past, and entries.
func (l *Ledger) page(s ledger.Stretch, read [4][]kv.Record, now time.Time) (p ledger.Skimmed) {
	r := l.newRunning(read[0], read[1], now)
	gone, _ := decoded[past](l.access, first(read[2]))
	if gone.Trimmed != 0 {
		p.Trimmed = time.UnixMilli(gone.Trimmed).UTC()
	}
	p.TrimmedSuccess, p.TrimmedFailure = gone.Success.at(), gone.Failure.at()
	for i, record := range read[3] {
		stored, note := l.stored(record)
		if tick := time.UnixMilli(stored.Tick).UTC(); i == s.Limit || tick.Before(s.Since) {
			p.Rest = tick
			break
		}
		if stored.Kind == records.NotRun && stored.Tick <= gone.Trimmed {
			continue // a run of the tick may have been dropped
		}
		p.Entries = append(p.Entries, r.entry(s.Job, stored, note))
	}
	p.Entries = slices.DeleteFunc(p.Entries, func(e ledger.Entry) bool { return !p.Rest.IsZero() && !e.OrderKey().After(p.Rest) })
	ledger.CountAttempts(p.Entries)
	ledger.Sort(p.Entries)
	return p
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
		return listing.Late(e)
	case records.Started:
		switch {
		case r.owners[stored.Owner]:
			e.Outcome = ledger.Running
		case r.unknown != nil:
			unknown := unreadable.Entry(r.unknown)
			e.Outcome, e.Reason = unknown.Outcome, unknown.Reason
		default:
			return listing.Interrupted(e, ledger.Reason{Code: ledger.CodeInterrupted})
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
