package view

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// TicksOf returns the ticks of the named job that match the query, newest first. It
// includes computed ones, which no replica recorded.
func (r Reader) TicksOf(ctx context.Context, job string, q ledger.Query) ([]ledger.Entry, error) {
	return r.entriesOf(ctx, job, true, q)
}

// entriesOf returns the ticks or the runs of the named job that match the query, newest first.
func (r Reader) entriesOf(ctx context.Context, job string, ticks bool, q ledger.Query) ([]ledger.Entry, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	q.Job = d.Key(job)
	list, err := r.entries(ctx, d, ticks, q)
	if err == nil && len(list) == 0 {
		err = d.Require(q.Job)
	}
	return list, err
}

// entriesOfEach returns those of every job. The limit applies to each job.
func (r Reader) entriesOfEach(ctx context.Context, ticks bool, q ledger.Query) ([]ledger.Entry, error) {
	d, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	lists := make([][]ledger.Entry, len(d.Keys))
	err = inParallel(ctx, len(d.Keys), func(ctx context.Context, i int) (err error) {
		of := q
		of.Job = d.Keys[i]
		lists[i], err = r.entries(ctx, d, ticks, of)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, newestFirst)
	return all, nil
}

// entries returns the ticks of the job with the key q.Job, with computed ones, or its runs.
func (r Reader) entries(ctx context.Context, d Directory, ticks bool, q ledger.Query) ([]ledger.Entry, error) {
	if !ticks {
		list, err := r.Records.Ledger.Runs(ctx, q)
		return d.namedAll(list), err
	}
	list, err := r.Records.Ledger.Ticks(ctx, q)
	if err != nil {
		return nil, err
	}
	missed, err := r.unrecorded(ctx, d, q, list)
	if err != nil {
		return nil, err
	}
	if len(missed) > 0 {
		list = append(list, missed...)
		slices.SortStableFunc(list, func(a, b ledger.Entry) int { return b.OrderKey().Compare(a.OrderKey()) })
		list = list[:min(len(list), q.Limit)]
	}
	return d.namedAll(list), nil
}

// maxParallel bounds the parallel reads of one listing: enough to keep the nodes busy, too
// few to delay their votes.
const maxParallel = 16

// inParallel calls f for each index below n, up to maxParallel in parallel. It returns the
// first error and starts no further call after it.
func inParallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, maxParallel) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := f(ctx, int(i)); err != nil {
					cancel(err) // the first one stays
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// settlingTime is how long a served job's tick without an entry is not yet shown as
// missed: its outcome may be on the way.
const settlingTime = time.Minute

// unrecorded computes the matching ticks without an entry, newest first, from the
// schedule that was served last. It covers the time between entries and, if no replica
// serves the job, after the last one. The list is the ledger's answer to the query.
func (r Reader) unrecorded(ctx context.Context, d Directory, q ledger.Query, list []ledger.Entry) ([]ledger.Entry, error) {
	last, ok := d.Last[q.Job]
	filter := ledger.Query{Outcomes: q.Outcomes, Triggers: q.Triggers}
	if !ok || !filter.Wants(ledger.Entry{Outcome: ledger.Missed, Trigger: ledger.BySchedule}) {
		return nil, nil
	}
	schedule, ok := r.schedule(last.JobInfo)
	if !ok {
		return nil, nil
	}
	all, limit := list, q.Limit
	if q.Filters() { // the list lacks the entries that do not match
		limit = jobs.MaxKeep
		var err error
		if all, err = r.Records.Ledger.Ticks(ctx, ledger.Query{Job: q.Job, Limit: limit, Before: q.Before, Since: q.Since}); err != nil {
			return nil, err
		}
	}
	past, err := served.BackgroundOf(ctx, last, r.Records.Ledger, all, time.Now())
	if err != nil {
		return nil, err
	}
	before, err := settledBefore(ctx, r.Records.Ledger, q, all, d.Served(q.Job), past.Absence.From)
	if err != nil {
		return nil, err
	}
	known := map[time.Time]bool{}
	for _, e := range all {
		known[e.Tick] = known[e.Tick] || e.Stream == ""
	}
	ticks := between(schedule, spans(last, past.RememberedSince, q, all, len(all) == limit), before, q.Limit, func(at time.Time) bool {
		return !known[at] && !past.Absence.Has(at)
	})
	var missed []ledger.Entry
	for _, at := range ticks {
		e := ledger.Entry{Job: q.Job, Tick: at, Trigger: ledger.BySchedule, Outcome: ledger.Missed, Reason: ledger.Reason{Code: past.Code(at)}, Computed: true}
		if q.Wants(e) {
			missed = append(missed, e)
		}
	}
	return missed, nil
}

// settledBefore returns the end of the time in which ticks without an entry are shown: if
// a replica serves the job, the outcomes of later ones may be on the way.
func settledBefore(ctx context.Context, store ledger.Store, q ledger.Query, all []ledger.Entry, live bool, removed time.Time) (time.Time, error) {
	now := time.Now()
	before := now.Add(1)
	switch {
	case live:
		last, err := newest(ctx, store, q, all)
		if err != nil {
			return last, err
		}
		before = earlier(last, now.Add(-settlingTime))
	case !removed.IsZero():
		before = removed.Add(1)
	}
	if !q.Before.IsZero() {
		before = earlier(before, q.Before)
	}
	return before, nil
}

// newest returns the last scheduled tick that has an entry, zero if there is none.
func newest(ctx context.Context, store ledger.Store, q ledger.Query, all []ledger.Entry) (time.Time, error) {
	if !q.Before.IsZero() || len(all) > 0 && all[0].Stream != "" {
		var err error
		if all, err = store.Ticks(ctx, ledger.Query{Job: q.Job, Limit: 1, Triggers: []ledger.Trigger{
			ledger.BySchedule, ledger.ByCatchUp, ledger.ByRerun,
		}}); err != nil {
			return time.Time{}, err
		}
	}
	if len(all) == 0 {
		return time.Time{}, nil
	}
	return all[0].Tick, nil
}

// A span is the time between from and to, both excluded; a zero bound is open.
type span struct{ from, to time.Time }

// between lists the wanted ticks of the spans, newest first, at most limit.
func between(s schedule.Schedule, list []span, before time.Time, limit int, wanted func(time.Time) bool) []time.Time {
	var all []time.Time
	for _, p := range list {
		if p.to.IsZero() || before.Before(p.to) {
			p.to = before
		}
		if p.from.IsZero() || !p.from.Before(p.to) || len(all) == limit {
			continue
		}
		some, _ := schedule.LastTicks(s, p.from, p.to, limit-len(all), wanted)
		slices.Reverse(some)
		all = append(all, some...)
	}
	return all
}

// spans returns the spans in which ticks without an entry are shown, newest first. They
// begin when the last version was first served by a replica that could run ticks. Below the
// oldest entry the ledger has dropped entries: there only ticks that nodes lost are shown.
// If the ledger has more entries than were read, the next page continues.
func spans(last roster.Version, remembered time.Time, q ledger.Query, all []ledger.Entry, more bool) []span {
	if last.Account.First.IsZero() {
		return nil
	}
	least := later(last.Since, last.Account.First, q.Since.Add(-1))
	begin := later(last.Account.First, last.Account.Until.Add(-1))
	if len(all) > 0 {
		begin = all[len(all)-1].OrderKey()
	}
	begin = later(least, begin)
	list := []span{{from: begin}}
	if !more && !remembered.IsZero() {
		list = append(list, span{from: least, to: earlier(begin.Add(1), remembered)})
	}
	return list
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

func later(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
