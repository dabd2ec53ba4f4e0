package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// Limits per call, since a call keeps the node from voting, and for concurrent calls.
const (
	skimJobs    = 250
	skimRecords = 500
	skimAtOnce  = 3
	// searchRecords bounds what a node looks at in a call of Search, most of which it keeps.
	searchRecords = 2000
	// recordsOfTick is more than a tick usually has on a node, runs or notes: what is read of it
	// first. One that was interrupted again and again has more.
	recordsOfTick = 8
)

// Skim implements [ledger.Skimmer].
func (l *Ledger) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	skimmed := make([]ledger.Skimmed, len(stretches))
	return skimmed, inPortions(ctx, stretches, skimRecords, func(ctx context.Context, from, to int) error {
		return skim(ctx, l, stretches[from:to], skimmed[from:to], perTick)
	})
}

// inPortions calls do for parts of the stretches, each with about so many records.
func inPortions(ctx context.Context, stretches []ledger.Stretch, records int, do func(ctx context.Context, from, to int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	turns := make(chan struct{}, skimAtOnce)
	var wg sync.WaitGroup
	for from := 0; from < len(stretches); {
		begin := from
		from += portion(stretches[from:], records)
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			if ctx.Err() != nil {
				return
			}
			if err := do(ctx, begin, from); err != nil {
				cancel(err) // the first error stays
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// portion returns how many of the stretches fit into one call, at least one.
func portion(stretches []ledger.Stretch, most int) int {
	records := 0
	for i, s := range stretches {
		if records += s.Limit; i > 0 && (i == skimJobs || records > most) {
			return i
		}
	}
	return len(stretches)
}

// Search implements [ledger.Skimmer]. The nodes find ticks of which a record is not plain.
// Then all records of these ticks are read, also from nodes that have only plain ones.
func (l *Ledger) Search(ctx context.Context, stretches []ledger.Stretch) ([]ledger.Skimmed, error) {
	found, ticks := make([]ledger.Skimmed, len(stretches)), make([][]int64, len(stretches))
	err := inPortions(ctx, stretches, searchRecords/ledger.LookedAt, func(ctx context.Context, from, to int) error {
		return search(ctx, l, stretches[from:to], found[from:to], ticks[from:to])
	})
	if err != nil {
		return nil, err
	}
	var ask []ledger.Stretch
	var of []int // the places of their stretches
	for i, list := range ticks {
		for _, ms := range list {
			tick := time.UnixMilli(ms).UTC()
			ask, of = append(ask, ledger.Stretch{Job: stretches[i].Job, NotAfter: tick, Since: tick}), append(of, i)
		}
	}
	for _, limit := range []int{recordsOfTick, ledger.LookedAt * recordsOfTick, searchRecords} {
		if ask, of, err = wholeTicks(ctx, l, ask, of, limit, found); err != nil {
			return nil, err
		}
	}
	for n, s := range ask {
		if i := of[n]; s.NotAfter.After(found[i].Rest) {
			found[i].Rest = s.NotAfter
		}
	}
	for i := range found {
		found[i].Entries = slices.DeleteFunc(found[i].Entries, func(e ledger.Entry) bool { return e.Plain() || !e.OrderKey().After(found[i].Rest) })
		slices.SortStableFunc(found[i].Entries, func(x, y ledger.Entry) int { return y.OrderKey().Compare(x.OrderKey()) })
	}
	return found, nil
}

// wholeTicks adds the entries of ticks to what was found, and returns those that have more records than
// the limit. The ticks are of the stretches with these places.
func wholeTicks(ctx context.Context, l *Ledger, ticks []ledger.Stretch, of []int, limit int, found []ledger.Skimmed) (larger []ledger.Stretch, ofLarger []int, err error) {
	for i := range ticks {
		ticks[i].Limit = limit
	}
	list, err := l.Skim(ctx, ticks, true)
	for n, some := range list {
		if some.Rest.Equal(ticks[n].NotAfter) {
			larger, ofLarger = append(larger, ticks[n]), append(ofLarger, of[n])
		} else {
			found[of[n]].Entries = append(found[of[n]].Entries, some.Entries...)
		}
	}
	return larger, ofLarger, err
}

// search finds the ticks to be read, newest first, down to the Rest of what was found.
func search(ctx context.Context, l *Ledger, stretches []ledger.Stretch, found []ledger.Skimmed, ticks [][]int64) error {
	pages, err := l.pages(ctx, spansOf(stretches, true))
	if err != nil {
		return err
	}
	for i, s := range stretches {
		ticks[i] = pages[i].ticks()
		pages[i].describe(&found[i])
		if len(ticks[i]) > s.Limit {
			found[i].Rest = time.UnixMilli(ticks[i][s.Limit]).UTC()
			ticks[i] = ticks[i][:s.Limit]
		}
	}
	return nil
}

// spansOf are the spans of stretches; for a search, with the records that are looked at.
func spansOf(stretches []ledger.Stretch, search bool) []span {
	spans := make([]span, len(stretches))
	for i, s := range stretches {
		spans[i] = span{job: s.Job, latest: notAfter(s.NotAfter), earliest: s.Since, most: s.Limit, search: search}
		if search {
			spans[i].most = min(searchRecords, ledger.LookedAt*s.Limit)
		}
	}
	return spans
}

func skim(ctx context.Context, l *Ledger, stretches []ledger.Stretch, into []ledger.Skimmed, perTick bool) error {
	pages, err := l.pages(ctx, spansOf(stretches, false))
	if err != nil {
		return err
	}
	for i, s := range stretches {
		all := pages[i].known(s.Job)
		if perTick {
			into[i].Entries = ticks(all)
		} else {
			into[i].Entries = entries(all)
		}
		for j := range into[i].Entries {
			l.nameNodes(&into[i].Entries[j])
		}
		pages[i].describe(&into[i])
	}
	return nil
}

// describe says where the page ends, and what its job lacks.
func (p *page) describe(s *ledger.Skimmed) {
	if p.merge.trimmed {
		s.Trimmed = time.UnixMilli(p.merge.gone).UTC()
	}
	if !p.complete {
		s.Rest = time.UnixMilli(p.horizon).UTC()
	}
}

// ticks are those of all records of the page, newest first.
func (p *page) ticks() []int64 {
	if !p.complete {
		p.merge.forgetUpTo(p.horizon)
	}
	all := map[int64]bool{}
	for k := range p.merge.claims {
		all[k.tick] = true
	}
	for k := range p.merge.notRun {
		all[k.tick] = true
	}
	for k := range p.merge.unreadable {
		all[k.tick] = true
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b int64) int { return cmp.Compare(b, a) })
}

// notAfter is the upper end of a range of scores: up to the given time, or unbounded if
// that is zero.
func notAfter(t time.Time) string {
	if t.IsZero() {
		return "+inf"
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

var _ ledger.Skimmer = (*Ledger)(nil)
