package members

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
)

// known is what is known of a node besides its health.
type known struct {
	blank   bool
	refused error // why the node must not be used, found by an examination
	// rejected is why the node refused the last call that it could refuse.
	rejected *RefusedError
	doubted  bool   // a call failed because of a key that may be the node's record
	runID    string // from the last INFO

	clock    sample // the best of the last replies
	floor    int64  // by the node's clock, milliseconds
	hasFloor bool
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
func (c condition) needsAttention() bool { return c.cause != nil || c.refused != nil || c.blank }

// The nodes' last replies. Run keeps them younger than about Config.CheckEvery.

// A NodeState is what is known of a node without calling it.
type NodeState struct {
	Node string
	// Up reports whether the node answered the last call. Votes reports whether it also
	// votes on current ticks: it is not blank, does not abstain, and neither side
	// refuses the other.
	Up, Votes bool
	// Offset is how far its clock is ahead of the local one, measured over the shortest
	// recent round trip, RTT. RTT is zero for a node that has never answered.
	Offset, RTT time.Duration
}

// NodeStates returns what is known of each node, in the order of the configuration.
func (s *Set) NodeStates() []NodeState {
	all := make([]NodeState, len(s.nodes))
	for i, n := range s.nodes {
		c := n.condition()
		all[i] = NodeState{
			Node: n.name, Up: c.clock.taken && c.cause == nil,
			Votes:  c.hasFloor && c.votes(time.Now()),
			Offset: c.clock.offset, RTT: c.clock.rtt,
		}
	}
	return all
}

// votes reports whether, as far as is known, the node is up and formatted, accepts this
// client, and does not abstain.
func (c condition) votes(now time.Time) bool {
	return !c.needsAttention() && c.rejected == nil && !c.vouches().After(now)
}

// Vouching returns when a quorum of the nodes votes on ticks again, by the local clock;
// zero if it does now. Ok is false while fewer than a quorum are up and known.
func (s *Set) Vouching() (at time.Time, ok bool) {
	at, ok = s.quorumOf(func(c condition) bool { return c.cause == nil && c.refused == nil && c.rejected == nil })
	if !at.After(time.Now()) {
		at = time.Time{}
	}
	return at, ok
}

// RemembersSince returns since when a quorum of the nodes remembers, by the local
// clock. A quorum of answers shows what a quorum has stored since then; older data may
// be lost. Ok is false while fewer than a quorum are known.
func (s *Set) RemembersSince() (since time.Time, ok bool) {
	if since, ok = s.quorumOf(func(condition) bool { return true }); ok {
		since = since.Add(-s.cfg.Grace)
	}
	return since, ok
}

// quorumOf returns when a quorum of the nodes accepted by counts votes, false if too
// few are known.
func (s *Set) quorumOf(counts func(condition) bool) (time.Time, bool) {
	var moments []time.Time
	for _, n := range s.nodes {
		if c := n.condition(); c.hasFloor && counts(c) {
			moments = append(moments, c.vouches())
		}
	}
	if len(moments) < s.Quorum() {
		return time.Time{}, false
	}
	slices.SortFunc(moments, time.Time.Compare)
	return moments[s.Quorum()-1], true
}

// Unusable returns an error for each node that cannot be used now.
func (s *Set) Unusable() []error {
	var errs []error
	for _, n := range s.nodes {
		c := n.condition()
		switch {
		case c.refused != nil:
			errs = append(errs, c.refused) // names the node
		case c.rejected != nil:
			errs = append(errs, c.rejected)
		case c.cause != nil:
			errs = append(errs, locking.NodeError{Node: n.name, Err: c.cause})
		case c.blank:
			errs = append(errs, locking.NodeError{Node: n.name, Err: ErrBlank})
		case !c.hasFloor:
			errs = append(errs, locking.NodeError{Node: n.name, Err: errNotAsked})
		}
	}
	return errs
}

// errNotAsked: the node has not been called yet.
var errNotAsked = errors.New("not called yet")
