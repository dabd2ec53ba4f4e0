package nodes

import (
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

// Vouching tells, from what the nodes last said, when a quorum of them vouches
// for ticks again, by the local clock: the zero time if it does now. ok is
// false while fewer than a quorum are up and known.
func (s *Set) Vouching() (at time.Time, ok bool) {
	var known []time.Time
	for _, n := range s.nodes {
		c := n.health.get()
		if v := n.clock.vouches(); c.cause == nil && c.refused == nil && c.rejected == nil && !v.IsZero() {
			known = append(known, v)
		}
	}
	if len(known) < s.Quorum() {
		return time.Time{}, false
	}
	slices.SortFunc(known, time.Time.Compare)
	if at = known[s.Quorum()-1]; at.After(time.Now()) {
		return at, true
	}
	return time.Time{}, true
}

// Unusable returns, from what the nodes last said, why each of those that
// cannot be used now cannot.
func (s *Set) Unusable() []error {
	var errs []error
	for _, n := range s.nodes {
		c := n.health.get()
		switch {
		case c.refused != nil:
			errs = append(errs, c.refused) // names the node
		case c.rejected != nil:
			errs = append(errs, c.rejected)
		case c.cause != nil:
			errs = append(errs, locking.NodeError{Node: n.name, Err: c.cause})
		case c.blank:
			errs = append(errs, locking.NodeError{Node: n.name, Err: ErrBlank})
		case n.clock.vouches().IsZero():
			errs = append(errs, locking.NodeError{Node: n.name, Err: errUnheard})
		}
	}
	return errs
}

// errUnheard: the node has not been asked yet.
var errUnheard = errors.New("not heard from yet")

// Offsets returns how far each node's clock is ahead of the local one, as
// measured from its replies. Nodes that never answered are left out.
func (s *Set) Offsets() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, n := range s.nodes {
		if best, ok := n.clock.best(); ok {
			out[n.name] = best.offset
		}
	}
	return out
}

// RemembersSince tells, from what the nodes last said, since when a quorum of them
// remembers, by the local clock. What a quorum has stored since then a quorum of
// answers shows; what came before may have been lost. ok is false while fewer than a
// quorum are known.
func (s *Set) RemembersSince() (since time.Time, ok bool) {
	var known []time.Time
	for _, n := range s.nodes {
		if v := n.clock.vouches(); !v.IsZero() {
			known = append(known, v.Add(-s.cfg.Grace))
		}
	}
	if len(known) < s.Quorum() {
		return time.Time{}, false
	}
	slices.SortFunc(known, time.Time.Compare)
	return known[s.Quorum()-1], true
}
