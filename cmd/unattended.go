package cmd

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/replica"
)

// whyUnattended is the reason of ticks that came while no replica served the
// job. Nobody was there to record them: they are computed.
const whyUnattended = "no replica was running (computed, not recorded)"

// unattended returns the ticks of a job that came since its last entry, if no
// replica serves it now, newest first, by the schedule that was served last.
func (a App) unattended(ctx context.Context, f *flags, cl cluster, d directory, key string, q scheduler.Query) ([]scheduler.Entry, error) {
	last, ok := d.last[key]
	if !ok || slices.ContainsFunc(d.versions, func(v scheduler.Version) bool { return v.Live && v.StoredAs() == key }) {
		return nil, nil
	}
	schedule, ok := a.served(f, last.JobInfo)
	if !ok {
		return nil, nil
	}
	known, err := cl.ledger.Ticks(ctx, scheduler.Query{Job: key, Limit: 1, Triggers: []scheduler.Trigger{
		scheduler.BySchedule, scheduler.ByCatchUp, scheduler.ByRerun,
	}})
	if err != nil {
		return nil, err
	}
	from := last.Published
	if len(known) > 0 {
		from = known[0].Tick
	}
	return missedSince(schedule, from, time.Now(), key, q), nil
}

// served returns the schedule of a job as it was published. Where that has no
// written form, the configuration at hand has it if it has this version of the
// job; of any other it is not known what it says.
func (a App) served(f *flags, last scheduler.JobInfo) (scheduler.Schedule, bool) {
	if s, err := last.Ticks(); err == nil {
		return s, true
	}
	config, err := replica.Read(f.source(), nil)
	if err != nil {
		return nil, false // of use for nodes alone
	}
	list, err := config.JobList(nil)
	i := slices.IndexFunc(list, func(j scheduler.Job) bool { return j.Name == last.Name && j.Hash == last.Hash && last.Hash != "" })
	if err != nil || i < 0 {
		return nil, false
	}
	return list[i].Schedule, true
}

// missedSince lists the ticks after from up to now that the query asks for,
// newest first.
func missedSince(s scheduler.Schedule, from, now time.Time, key string, q scheduler.Query) []scheduler.Entry {
	if q.Since.After(from) {
		from = q.Since.Add(-1)
	}
	var missed []scheduler.Entry
	for at := s.Next(from); !at.IsZero() && !at.After(now); at = s.Next(at) {
		e := scheduler.Entry{
			Job: key, Tick: at, Trigger: scheduler.BySchedule, Outcome: scheduler.Missed, Reason: whyUnattended,
		}
		if !q.Wants(e) {
			continue
		}
		if missed = append(missed, e); len(missed) > 2*q.Limit { // seldom, so that the newest stay
			missed = slices.Delete(missed, 0, len(missed)-q.Limit)
		}
	}
	slices.Reverse(missed)
	return missed[:min(len(missed), q.Limit)]
}
