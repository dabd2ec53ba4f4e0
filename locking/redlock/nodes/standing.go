package nodes

import "time"

// A Standing is what is known of a node without asking it.
type Standing struct {
	Node string
	// Up tells whether the node answered the last call, and Votes whether it does
	// and votes on ticks of now: not while it abstains, is blank, or refuses this
	// client or is refused.
	Up, Votes bool
	// Offset is how far its clock is ahead of the local one, as measured over a
	// round trip of RTT, the shortest of late. RTT is zero for a node that has
	// never answered.
	Offset, RTT time.Duration
}

// Standings returns what is known of each node, in the order of the
// configuration, from what they said last. Run sees to it that this is never much
// older than Config.CheckEvery.
func (s *Set) Standings() []Standing {
	all := make([]Standing, len(s.nodes))
	for i, n := range s.nodes {
		all[i] = n.standing(time.Now())
	}
	return all
}

func (n *Node) standing(now time.Time) Standing {
	best, heard := n.clock.best()
	return Standing{
		Node: n.name, Up: heard && n.health.get().cause == nil,
		Votes:  heard && !n.clock.vouches().IsZero() && n.Votes(now),
		Offset: best.offset, RTT: best.rtt,
	}
}
