package membership

import (
	"sync"
	"time"
)

// known is what is known of a node besides its health.
type known struct {
	blank   bool
	refused error // why the node must not be used, found by an examination
	// rejected is why the node refused the last call that it could refuse.
	rejected *RefusedError
	// unwritable is why the node took no writes when that was last tried.
	unwritable *UnwritableError
	doubted    bool   // a call has failed in a way that other calls may, too
	runID      string // from the last INFO

	clock    sample // the best of the last replies
	floor    int64  // by the node's clock, milliseconds
	hasFloor bool
	server   string // the address of the server that gave the floor
}

// A sample measures how far the node's clock is ahead of the local one. The shorter the
// round trip, the better.
type sample struct {
	offset time.Duration
	rtt    time.Duration
	taken  bool
}

// vouches returns when, by the local clock, the node stops abstaining; zero if unknown.
func (k known) vouches() time.Time {
	if !k.hasFloor {
		return time.Time{}
	}
	return time.UnixMilli(k.floor).Add(-k.clock.offset)
}

// A state guards known for concurrent use.
type state struct {
	mu sync.Mutex
	known
	samples [8]sample
	next    int
}

// learn changes what is known, and returns the value before.
func (s *state) learn(change func(*known)) known {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.known
	change(&s.known)
	return before
}

// sample records the clock of a reply.
func (s *state) sample(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples[s.next] = sample{offset: r.offset(), rtt: r.Received.Sub(r.Sent), taken: true}
	s.next = (s.next + 1) % len(s.samples)
	s.clock = sample{}
	for _, one := range s.samples {
		if one.taken && (!s.clock.taken || one.rtt < s.clock.rtt) {
			s.clock = one
		}
	}
}

// refuse sets why the node must not be used, nil to use it. It reports whether it was in
// use.
func (s *state) refuse(err error) bool {
	return s.learn(func(k *known) { k.refused = err }).refused == nil
}

// A condition is what is known of a node, and its health.
type condition struct {
	known
	cause error     // why the node is down; nil if it is up
	heard time.Time // when it last answered
}

func (n *Node) condition() condition {
	c := condition{known: n.state.learn(func(*known) {})}
	c.heard, c.cause = n.link.Health()
	return c
}

// needsAttention reports whether the node needs attention.
func (c condition) needsAttention() bool {
	return c.cause != nil || c.refused != nil || c.blank || c.unwritable != nil
}

// votes reports whether, as far as is known, the node is up and formatted, takes writes,
// accepts this client, and does not abstain.
func (c condition) votes(now time.Time) bool {
	return !c.needsAttention() && c.rejected == nil && !c.vouches().After(now)
}
