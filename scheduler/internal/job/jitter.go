package job

import (
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// Jitter returns the delay of a tick's start: at least 0 and less than limit, in whole
// milliseconds, the same on every replica. It differs by job and tick.
func Jitter(job string, tick time.Time, limit time.Duration) time.Duration {
	ms := uint64(max(limit.Milliseconds(), 0))
	if ms == 0 {
		return 0
	}
	return time.Duration(Weight(job, tick, "jitter")%ms) * time.Millisecond
}

// Start returns when the given tick of the job starts: its nominal time plus jitter.
func (d Definition) Start(at time.Time) time.Time { return d.startOf(at, d.Schedule.Next(at)) }

// Coming returns the next n ticks of the job that start after from; with excluded, also
// those that calendars remove, which count. The nominal time of the first may be before
// from: jitter delays its start.
func (d Definition) Coming(from time.Time, n int, excluded bool) []schedule.Planned {
	coming := []schedule.Planned{}
	for p := range schedule.Coming(d.Schedule, from.Add(-max(d.Jitter, 0)), excluded) {
		if len(coming) == n {
			break
		}
		if p.Tick.After(from) || !p.Excluded && d.Start(p.Tick).After(from) {
			coming = append(coming, p)
		}
	}
	return coming
}
