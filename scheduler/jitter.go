package scheduler

import (
	"math"
	"time"
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

// LeastGap returns the shortest time between two of the first thousand ticks
// of s from 2026 on, by which Job.Jitter is judged; false if there are none to
// compare. It does not depend on today's date: what is right stays right.
func LeastGap(s Schedule) (time.Duration, bool) {
	least, last := time.Duration(math.MaxInt64), s.Next(time.Date(2026, 1, 1, 0, 0, 0, -1, time.UTC))
	for range 1000 {
		next := s.Next(last)
		if last.IsZero() || next.IsZero() {
			break
		}
		least, last = min(least, next.Sub(last)), next
	}
	return least, least < math.MaxInt64
}

// Start returns when the given tick of the job starts: its nominal time and
// the jitter.
func (j Job) Start(at time.Time) time.Time { return j.startOf(at, j.Schedule.Next(at)) }
