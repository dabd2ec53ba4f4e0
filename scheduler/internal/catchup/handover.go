package catchup

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// schedule is the schedule of the ticks before a replica serves the job: at each instant that of the
// version which was the last to begin.
func (p Span) schedule(versions []roster.JobInfo) schedule.Schedule {
	since := roster.ServedSince(roster.JobInfo{Hash: p.Job.Hash, Since: p.Begun}, versions)
	var earlier turns
	for _, v := range versions {
		if v.Hash == p.Job.Hash || !v.Since.Before(since) {
			continue
		}
		ticks, err := v.Ticks()
		if err != nil {
			return p.Job.Schedule // an old schedule is unknown
		}
		earlier = append(earlier, turn{v.Since, ticks})
	}
	if since.IsZero() || len(earlier) == 0 {
		return p.Job.Schedule
	}
	slices.SortFunc(earlier, func(a, b turn) int { return a.from.Compare(b.from) })
	return append(earlier, turn{since, p.Job.Schedule})
}

// turns are schedules that follow one another, each until the next one begins.
type turns []turn

type turn struct {
	from  time.Time
	ticks schedule.Schedule
}

// Next implements Schedule. Before the first turn nothing is known, and there is no tick.
func (list turns) Next(t time.Time) time.Time {
	for i, turn := range list {
		last := i == len(list)-1
		if !last && !t.Before(list[i+1].from) {
			continue
		}
		if t.Before(turn.from) {
			t = turn.from.Add(-1)
		}
		if next := turn.ticks.Next(t); last || !next.IsZero() && next.Before(list[i+1].from) {
			return next
		}
	}
	return time.Time{}
}
