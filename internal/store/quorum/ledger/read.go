package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/listing"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// read lists the entries that choose selects. A page has about one record per tick of each node,
// and more for reruns. A filter may leave out many.
func (l *Ledger) read(ctx context.Context, q ledger.Query, choose func([]known) []ledger.Entry) ([]ledger.Entry, error) {
	limit := q.Limit + q.Limit/4 + 2
	if q.Filters() {
		limit = 2*q.Limit + 16
	}
	return listing.Collect(ctx, q, limit, func(ctx context.Context, s *ledger.Stretch) ([]ledger.Entry, time.Time, error) {
		pages, err := l.pages(ctx, []ledger.Stretch{*s}, false)
		if err != nil {
			return nil, time.Time{}, err
		}
		all := pages[0].known(q.Job)
		if len(all) == 0 { // one tick fills the page
			s.Limit *= 2
		}
		return l.nameNodesOf(choose(all)), pages[0].rest(), nil
	})
}

// A page is what the nodes that answered know of a range of a job's ticks.
type page struct {
	merge merger
	// horizon is a tick in milliseconds. The page has all records of later ticks, and
	// of all ticks if it is complete.
	horizon  int64
	complete bool
}

// pages reads several stretches with one call to each node. A search looks at more records, and
// leaves out what a node takes for a plain end.
func (l *Ledger) pages(ctx context.Context, stretches []ledger.Stretch, search bool) ([]page, error) {
	doing := "reading the ledger of " + stretches[0].Job
	if len(stretches) > 1 {
		doing += fmt.Sprintf(" and %d more jobs", len(stretches)-1)
	}
	var keys []string
	var args []any
	for _, s := range stretches {
		for _, what := range []string{"runs", "notes", "lock", "fence"} {
			keys = append(keys, l.set.JobKey(s.Job, what))
		}
		latest, limit, flag := "+inf", s.Limit, 0
		if !s.NotAfter.IsZero() {
			latest = strconv.FormatInt(s.NotAfter.UnixMilli(), 10)
		}
		if search {
			limit, flag = min(searchRecords, ledger.LookedAt*s.Limit), 1
		}
		args = append(args, latest, max(0, s.Since.UnixMilli()), limit, flag)
	}
	replies, err := l.set.Answers(doing, l.set.Call(ctx, l.lua.read, keys, args...))
	if err != nil {
		return nil, err
	}
	list, memo := make([]page, len(stretches)), decoded{}
	for i := range list {
		list[i] = page{merge: newMerger(l.set.Quorum(), len(replies)), complete: true}
		list[i].merge.unread = l.Unreadable
	}
	for _, r := range replies {
		said := words{left: r.Args}
		for i := range list {
			if err := list[i].add(stretches[i].Job, &said, memo); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", doing, r.Node, err)
			}
		}
	}
	return list, nil
}

// add adds one node's answer about a job, see read.lua.
func (p *page) add(job string, w *words, memo decoded) error {
	if rest, more := w.tick(); more {
		p.complete, p.horizon = false, max(p.horizon, rest)
	}
	if gone, trimmed := w.tick(); trimmed {
		p.merge.trimmed, p.merge.gone = true, max(p.merge.gone, gone)
	}
	p.merge.success.add(w.tick())
	p.merge.failure.add(w.tick())
	owners := w.list() // of the locks
	for i, v := range owners {
		owners[i] = strings.TrimPrefix(v, "?")
	}
	for _, text := range w.list() {
		score, text, _ := strings.Cut(text, " ")
		rec, err := memo.record(text)
		if err != nil {
			p.merge.skip(job, score, text, err)
			continue
		}
		p.merge.add(rec, owners...)
	}
	return w.err
}

// known returns the entries of the ticks that the page covers.
func (p *page) known(job string) []known {
	if !p.complete {
		p.merge.forgetUpTo(p.horizon)
	}
	return p.merge.known(job)
}

// words is the unread rest of a node's answer. After an error it has no more words.
type words struct {
	left []string
	err  error
}

// next takes a word, "" at the end.
func (w *words) next() string {
	if len(w.left) == 0 {
		return ""
	}
	word := w.left[0]
	w.left = w.left[1:]
	return word
}

// fail notes the first error.
func (w *words) fail(format string, word string) {
	w.left, w.err = nil, cmp.Or(w.err, fmt.Errorf(format, word))
}

// tick takes a tick in milliseconds, if there is one.
func (w *words) tick() (ms int64, ok bool) {
	word := w.next()
	if word == "" {
		return 0, false
	}
	ms, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		w.fail("invalid tick %q", word)
	}
	return ms, err == nil
}

// list takes a number and that many words.
func (w *words) list() []string {
	text := w.next()
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > len(w.left) {
		w.fail("invalid count %q", text)
		return nil
	}
	list := w.left[:n]
	w.left = w.left[n:]
	return list
}

// decoded caches records by their text, since most nodes store the same.
type decoded map[string]scripts.Record

func (d decoded) record(text string) (scripts.Record, error) {
	if r, ok := d[text]; ok {
		return r, nil
	}
	r, err := scripts.Decode(text)
	if err == nil {
		d[text] = r
	}
	return r, err
}

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
	choose := entries
	if perTick {
		choose = ticks
	}
	skimmed := make([]ledger.Skimmed, len(stretches))
	return skimmed, inPortions(ctx, stretches, skimRecords, func(ctx context.Context, from, to int) error {
		pages, err := l.pages(ctx, stretches[from:to], false)
		for i := range pages {
			s := &skimmed[from+i]
			s.Entries = l.nameNodesOf(choose(pages[i].known(stretches[from+i].Job)))
			pages[i].describe(s)
		}
		return err
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
		pages, err := l.pages(ctx, stretches[from:to], true)
		for i := range pages {
			s, at := &found[from+i], pages[i].ticks()
			pages[i].describe(s)
			if most := stretches[from+i].Limit; len(at) > most {
				s.Rest = time.UnixMilli(at[most]).UTC()
				at = at[:most]
			}
			ticks[from+i] = at
		}
		return err
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

// describe says where the page ends, and what its job lacks.
func (p *page) describe(s *ledger.Skimmed) {
	if p.merge.trimmed {
		s.Trimmed = time.UnixMilli(p.merge.gone).UTC()
	}
	s.TrimmedSuccess, s.TrimmedFailure = p.merge.success.at(p.merge.quorum), p.merge.failure.at(p.merge.quorum)
	s.Rest = p.rest()
}

// rest is the newest tick that the page may lack records of; zero if there is none.
func (p *page) rest() time.Time {
	if p.complete {
		return time.Time{}
	}
	return time.UnixMilli(p.horizon).UTC()
}

// ticks are those of all records of the page, newest first.
func (p *page) ticks() []int64 {
	if !p.complete {
		p.merge.forgetUpTo(p.horizon)
	}
	all := map[int64]bool{}
	for k := range p.merge.ticks {
		all[k.ms] = true
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b int64) int { return cmp.Compare(b, a) })
}

var _ ledger.Skimmer = (*Ledger)(nil)
