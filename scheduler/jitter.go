package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// Jitter returns the delay of a tick's start: at least 0 and less than limit,
// in whole milliseconds, the same on every replica. Ticks of different jobs,
// and different ticks of one, are delayed by different times.
func Jitter(job string, tick time.Time, limit time.Duration) time.Duration {
	ms := uint64(max(limit.Milliseconds(), 0))
	if ms == 0 {
		return 0
	}
	return time.Duration(weight(job, tick, "jitter")%ms) * time.Millisecond
}

// Start returns when the given tick of the job starts: its nominal time and
// the jitter.
func (j Job) Start(at time.Time) time.Time { return j.startOf(at, j.Schedule.Next(at)) }

// Coming returns the next n ticks of the job that start after from, and with excluded
// those that calendars take away, which count for n. The first of them may be one whose
// nominal time has passed: jitter makes it start later.
func (j Job) Coming(from time.Time, n int, excluded bool) []schedule.Planned {
	coming := []schedule.Planned{}
	for p := range schedule.Coming(j.Schedule, from.Add(-max(j.Jitter, 0)), excluded) {
		if len(coming) == n {
			break
		}
		if p.Tick.After(from) || !p.Excluded && j.Start(p.Tick).After(from) {
			coming = append(coming, p)
		}
	}
	return coming
}
