package scheduler

import "time"

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
