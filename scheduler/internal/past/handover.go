package past

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// schedule is the schedule of the ticks before a replica serves the job.
func (p Span) schedule(versions []roster.JobInfo) schedule.Schedule {
	since := roster.ServedSince(roster.JobInfo{Hash: p.Job.Hash, Since: p.Begun}, versions)
	var last roster.JobInfo // the version before this one
	for _, v := range versions {
		if v.Hash != p.Job.Hash && v.Since.Before(since) && v.Published.After(last.Published) {
			last = v
		}
	}
	if since.IsZero() || last.Published.IsZero() {
		return p.Job.Schedule
	}
	before, err := last.Ticks()
	if err != nil {
		return p.Job.Schedule // the old schedule is unknown
	}
	return handover{before: before, after: p.Job.Schedule, at: since}
}

// A handover is one schedule until an instant, and another one from then on.
type handover struct {
	before, after schedule.Schedule
	at            time.Time
}

// Next implements Schedule.
func (h handover) Next(t time.Time) time.Time {
	if next := h.before.Next(t); !next.IsZero() && next.Before(h.at) {
		return next
	}
	if t.Before(h.at) {
		t = h.at.Add(-1)
	}
	return h.after.Next(t)
}
