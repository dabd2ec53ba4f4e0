package protocol

import "cmp"

// Look is N10: what [Lock] would answer to a new try. It changes nothing.
func Look(s State, n Node, t Try) Answer {
	if no := s.obstacle(n, t); no != nil {
		return *no
	}
	return s.granted(n, t)
}

// Lock is N2, the first of two rounds: it only takes the lock, for a ttl. A lock that
// the try already has stays unchanged.
func Lock(s State, n Node, t Try) (State, Answer) {
	if no := s.obstacle(n, t); no != nil {
		return s, *no
	}
	if l := s.lockOf(t); l.Owner != t.Owner || !l.lasts(n.Now) {
		s = s.withLock(t, Lease{Owner: t.Owner, Until: n.Now + t.TTL})
	}
	return s, s.granted(n, t)
}

func (s State) obstacle(n Node, t Try) *Answer {
	return cmp.Or(s.dead(n, t), n.abstains(t), n.ahead(t), s.taken(n, t), s.busy(n, t))
}

// Commit is N3: it accepts the token for the tick. It may be repeated.
func Commit(s State, n Node, t Try, b Bid) (State, Answer) {
	if no := s.silent(n, t, b); no != nil {
		return s, *no
	}
	committed := Lease{Owner: t.Owner, Committed: true, Until: n.Now + t.TTL}
	if s.Open == t.Owner {
		if no := s.busy(n, t); no != nil {
			return s, *no
		}
		s = s.withLock(t, committed)
		return s, s.granted(n, t)
	}
	if no := s.refusal(n, t, b); no != nil {
		return s, *no
	}
	before := s.Streams[t.Stream]
	if before.Owner != "" && !before.Void && before.Ended == "" && !t.Plain {
		s.Runs = s.Runs.with(startedRecord(t.Stream, before), b.Keep)
	}
	s.Fence, s.Open = b.Token, t.Owner
	s = s.withClaim(t.Stream, Claim{
		Tick: t.Tick, Token: b.Token, Owner: t.Owner, Mode: t.Mode, Attempt: b.Attempt, Note: b.Note, Overlaps: t.Overlaps,
	})
	s = s.withLock(t, committed)
	return s, s.granted(n, t)
}

// silent is N3.1: the node has no vote on the claim. A holder that joins wants no vote,
// so it is not told that the node abstains.
func (s State) silent(n Node, t Try, b Bid) *Answer {
	abstains := n.abstains(t)
	if b.Join {
		abstains = nil
	}
	return cmp.Or(s.dead(n, t), abstains, n.ahead(t), n.reaches(b.Token))
}

// refusal is N3.3 to N3.5. The lease of a holder that joins excludes all others.
func (s State) refusal(n Node, t Try, b Bid) *Answer {
	unended, fence := s.unended(n, t), s.FenceAt(n)
	if b.Join {
		unended, fence = nil, s.accepted(n)
	}
	no := cmp.Or(s.taken(n, t), s.busy(n, t), unended)
	if no == nil && (b.Token <= fence || b.Attempt <= s.attempts(t)) {
		return &Answer{Code: Stale, Fence: s.FenceAt(n), Attempt: s.attempts(t)}
	}
	return no
}

func (s State) granted(n Node, t Try) Answer {
	return Answer{Code: OK, Fence: s.FenceAt(n), Attempt: s.attempts(t)}
}
