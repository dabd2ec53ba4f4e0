package nodes

import (
	"sync"
	"time"
)

// clock keeps what a node's replies told about time: how far its clock is from
// ours, and up to when it abstains.
type clock struct {
	mu      sync.Mutex
	samples [8]sample
	next    int
	floor   int64 // by the node's clock, milliseconds
	known   bool
}

// A sample is one measurement of the offset, as good as its round trip is short.
type sample struct {
	offset time.Duration
	rtt    time.Duration
	taken  bool
}

// sample measures the node's clock against the middle of the call.
func (c *clock) sample(r Reply) {
	rtt := r.Received.Sub(r.Sent)
	middle := r.Sent.Add(rtt / 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples[c.next] = sample{offset: r.NodeTime.Sub(middle), rtt: rtt, taken: true}
	c.next = (c.next + 1) % len(c.samples)
}

// best returns the recent sample with the shortest round trip.
func (c *clock) best() (sample, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bestLocked()
}

func (c *clock) bestLocked() (sample, bool) {
	var best sample
	for _, s := range c.samples {
		if s.taken && (!best.taken || s.rtt < best.rtt) {
			best = s
		}
	}
	return best, best.taken
}

// sawFloor notes a floor and tells whether it is another than before.
func (c *clock) sawFloor(floor int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.known && floor != c.floor
	c.floor, c.known = floor, true
	return changed
}

// forget drops the floor of a node that holds none any more.
func (c *clock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// vouches returns when, by the local clock, the node stops abstaining; the zero
// time while that is not known.
func (c *clock) vouches() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return time.Time{}
	}
	s, _ := c.bestLocked()
	return time.UnixMilli(c.floor).Add(-s.offset)
}
