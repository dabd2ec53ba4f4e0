package listing

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// settlingTime is how long after its time a tick of a served job is not taken for one that has no
// entry: its outcome may be on the way.
const settlingTime = time.Minute

// unrecorded returns the ticks that the query asks for and that have no entry, newest first,
// by the schedule that was served last: those between entries and, if no replica serves the
// job now, those since the last entry. The list is what the ledger has for the query.
func (r Reader) unrecorded(ctx context.Context, d Directory, q scheduler.Query, list []scheduler.Entry) ([]scheduler.Entry, error) {
	last, ok := d.Last[q.Job]
	filter := scheduler.Query{Outcomes: q.Outcomes, Triggers: q.Triggers}
	if !ok || !filter.Wants(scheduler.Entry{Outcome: scheduler.Missed, Trigger: scheduler.BySchedule}) {
		return nil, nil
	}
	schedule, ok := r.schedule(last.JobInfo)
	if !ok {
		return nil, nil
	}
	all, limit := list, q.Limit
	if q.Filters() { // the list lacks entries that there are
		limit = scheduler.MaxKeep
		var err error
		if all, err = r.Ledger.Ticks(ctx, scheduler.Query{Job: q.Job, Limit: limit, Before: q.Before, Since: q.Since}); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	judge, err := last.Judge(ctx, r.Ledger, all, now)
	if err != nil {
		return nil, err
	}
	before := now.Add(1)
	switch served := d.Served(q.Job); {
	case served:
		newest, err := r.newest(ctx, q, all)
		if err != nil {
			return nil, err
		}
		before = earlier(newest, now.Add(-settlingTime))
	case !judge.Removed().IsZero():
		before = judge.Removed().Add(1)
	}
	if !q.Before.IsZero() {
		before = earlier(before, q.Before)
	}
	known := map[time.Time]bool{}
	for _, e := range all {
		known[e.Tick] = known[e.Tick] || e.Stream == ""
	}
	ticks := between(schedule, spans(last, judge, q, all, len(all) == limit), before, q.Limit, func(at time.Time) bool {
		return !known[at] && !judge.Nobodys(at)
	})
	var missed []scheduler.Entry
	for _, at := range ticks {
		if e := judge.Entry(at); q.Wants(e) {
			missed = append(missed, e)
		}
	}
	return missed, nil
}

// A span is of time, after from and before to; zero: without an end.
type span struct{ from, to time.Time }

// between lists the ticks of the spans that are wanted, newest first, at most limit.
func between(s scheduler.Schedule, list []span, before time.Time, limit int, wanted func(time.Time) bool) []time.Time {
	var all []time.Time
	for _, p := range list {
		if p.to.IsZero() || before.Before(p.to) {
			p.to = before
		}
		if p.from.IsZero() || !p.from.Before(p.to) || len(all) == limit {
			continue
		}
		some, _ := scheduler.LastTicks(s, p.from, p.to, limit-len(all), wanted)
		slices.Reverse(some)
		all = append(all, some...)
	}
	return all
}

// newest is the last tick of the job's schedule that has an entry, zero if there is none.
func (r Reader) newest(ctx context.Context, q scheduler.Query, all []scheduler.Entry) (time.Time, error) {
	if !q.Before.IsZero() || len(all) > 0 && all[0].Stream != "" {
		var err error
		if all, err = r.Ledger.Ticks(ctx, scheduler.Query{Job: q.Job, Limit: 1, Triggers: []scheduler.Trigger{
			scheduler.BySchedule, scheduler.ByCatchUp, scheduler.ByRerun,
		}}); err != nil {
			return time.Time{}, err
		}
	}
	if len(all) == 0 {
		return time.Time{}, nil
	}
	return all[0].Tick, nil
}

// spans are where ticks without an entry are shown, the newest first. The version that was
// served last has been served since a known time. Below the oldest entry there were others
// once that are kept no more, but for what nodes have lost.
// Where the ledger has more than was read, the next page goes on.
func spans(last scheduler.Version, judge scheduler.Judge, q scheduler.Query, all []scheduler.Entry, more bool) []span {
	least := last.Since
	if !q.Since.IsZero() && !least.IsZero() {
		least = later(least, q.Since.Add(-1))
	}
	begin := last.Account.First
	if last.Account.Until.After(begin) {
		begin = last.Account.Until.Add(-1)
	}
	var oldest time.Time
	if len(all) > 0 {
		oldest = all[len(all)-1].OrderKey()
	}
	switch {
	case more:
		return []span{{from: later(least, oldest)}}
	case len(all) > 0:
		begin = oldest
	}
	begin = later(least, begin)
	return []span{{from: begin}, {from: least, to: earlier(begin.Add(1), judge.Remembered())}}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
