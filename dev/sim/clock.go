package sim

import (
	"sync"
	"time"
)

// A Clock is the wall clock of one process: off by some, faster or slower by
// some, set now and then. True time is that of the world.
type Clock struct {
	mu     sync.Mutex
	base   time.Time // true time of the last change
	reads  time.Time // what the clock read then
	rate   float64   // by how much it is faster
	latest time.Time // its largest reading before the last change
}

// NewClock returns a clock that reads now plus off, and gains rate seconds per
// second.
func NewClock(now time.Time, off time.Duration, rate float64) *Clock {
	now = now.Round(0)
	return &Clock{base: now, reads: now.Add(off), rate: rate, latest: now.Add(off)}
}

// Read returns what the clock reads at a true time.
func (c *Clock) Read(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read(now)
}

func (c *Clock) read(now time.Time) time.Time {
	passed := now.Round(0).Sub(c.base)
	return c.reads.Add(passed + time.Duration(c.rate*float64(passed)))
}

// Jump sets the clock, at a true time, ahead by some or back.
func (c *Clock) Jump(now time.Time, by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reads := c.read(now)
	if reads.After(c.latest) {
		c.latest = reads
	}
	c.base, c.reads = now.Round(0), reads.Add(by)
}

// Behind returns how far the clock is behind its largest reading.
func (c *Clock) Behind(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.latest.Sub(c.read(now)))
}
