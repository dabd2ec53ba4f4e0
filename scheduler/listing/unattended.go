package listing

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// unattended returns the ticks of the query's job that came since its last entry,
// if no replica serves it now, newest first, by the schedule that was served last.
func (r Reader) unattended(ctx context.Context, d Directory, q scheduler.Query) ([]scheduler.Entry, error) {
	last, ok := d.Last[q.Job]
	if !ok || d.Served(q.Job) {
		return nil, nil
	}
	schedule, ok := r.schedule(last.JobInfo)
	if !ok {
		return nil, nil
	}
	known, err := r.Ledger.Ticks(ctx, scheduler.Query{Job: q.Job, Limit: 1, Triggers: []scheduler.Trigger{
		scheduler.BySchedule, scheduler.ByCatchUp, scheduler.ByRerun,
	}})
	if err != nil {
		return nil, err
	}
	from := last.Published
	if len(known) > 0 {
		from = known[0].Tick
	}
	return missedSince(schedule, from, time.Now(), q), nil
}

// missedSince lists the ticks after from up to now that the query asks for,
// newest first. A schedule can only be walked forward, so it looks at longer and
// longer spans before now: what it costs does not grow with the time since from.
func missedSince(s scheduler.Schedule, from, now time.Time, q scheduler.Query) []scheduler.Entry {
	if !q.Before.IsZero() && !now.Before(q.Before) {
		now = q.Before.Add(-1)
	}
	if q.Since.After(from) {
		from = q.Since.Add(-1)
	}
	if !q.Wants(unattendedTick(q.Job, now)) {
		return nil // of no time
	}
	for span := time.Hour; ; span *= 4 {
		begin := now.Add(-span)
		if begin.Before(from) {
			begin = from
		}
		missed := walk(s, begin, now, q)
		if len(missed) >= q.Limit || begin.Equal(from) {
			slices.Reverse(missed)
			return missed[:min(len(missed), q.Limit)]
		}
	}
}

// walk lists the ticks after from up to now that the query asks for, oldest first.
func walk(s scheduler.Schedule, from, now time.Time, q scheduler.Query) []scheduler.Entry {
	var missed []scheduler.Entry
	for at := s.Next(from); !at.IsZero() && !at.After(now); at = s.Next(at) {
		if missed = append(missed, unattendedTick(q.Job, at)); len(missed) > 2*q.Limit { // seldom, so that the newest stay
			missed = slices.Delete(missed, 0, len(missed)-q.Limit)
		}
	}
	return missed
}

func unattendedTick(key string, at time.Time) scheduler.Entry {
	return scheduler.Entry{
		Job: key, Tick: at, Trigger: scheduler.BySchedule, Outcome: scheduler.Missed,
		Reason: scheduler.Reason{Code: scheduler.CodeNoReplica}, Computed: true,
	}
}
