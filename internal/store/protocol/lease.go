package protocol

// Extend is N4: it renews the lock, or sets that of the open claim again, also while
// the node abstains. A lock set only by LOCK does not count: an old request may have
// set it after another try has run.
func Extend(s State, n Node, t Try) (State, Answer) {
	if no := s.dead(n, t); no != nil {
		return s, *no
	}
	l := s.lockOf(t)
	held := l.Owner == t.Owner && l.Committed && l.lasts(n.Now)
	if !held {
		if no := s.busy(n, t); no != nil {
			no.Code = Lost
			return s, *no
		}
		if s.Open != t.Owner {
			return s, *s.because(n, Lost, t)
		}
	}
	s = s.withLock(t, Lease{Owner: t.Owner, Committed: true, Until: n.Now + t.TTL})
	return s, Answer{Code: OK}
}

// Finish is N5: it closes the tick, records the run and frees the lock. A repeated
// request gets the same answer.
func Finish(s State, n Node, t Try, e End) (State, Answer) {
	c, l := s.Streams[t.Stream], s.lockOf(t)
	mine := c.Owner == t.Owner && !c.Void
	held := l.Owner == t.Owner && l.Committed && l.lasts(n.Now)
	code := Late
	switch repeated := s.Runs.endOf(t.Owner); {
	case mine && c.Ended != "":
		code = c.Ended
	case repeated != "":
		code = repeated
	case held && (s.Open == t.Owner || t.Overlaps):
		code = OK
	case mine && s.Open == t.Owner:
		code = RanOut
	}
	if mine {
		if c.Ended == "" {
			c.Handed = e.Handover
		}
		c.Ended = code
		s = s.withClaim(t.Stream, c)
	}
	s = s.ended(n, t, e.Straggler)
	if !t.Plain {
		s.Runs = s.Runs.drop(func(r Record) bool { return r.Owner == t.Owner }).with(Record{
			Place: t.place(), Owner: t.Owner, Ended: code, Note: e.Note,
		}, e.Keep)
	}
	if code == Late {
		return s, *s.because(n, Late, t)
	}
	return s, Answer{Code: code}
}

// Void is N6: the try will never run. Its claim frees the tick; fence and tick stay.
func Void(s State, n Node, t Try, straggler bool) (State, Answer) {
	if c := s.Streams[t.Stream]; c.Owner == t.Owner && c.Ended == "" {
		c.Void = true
		s = s.withClaim(t.Stream, c)
	}
	s.Runs = s.Runs.drop(func(r Record) bool { return r.Owner == t.Owner && r.Ended == "" })
	return s.ended(n, t, straggler), Answer{Code: OK}
}

// Evict is an operator's release: it deletes the try's lock and stores the reason for
// its next extension. The claim stays. The tombstone outlasts any pause between two
// extensions, since a ttl is shorter than the grace.
func Evict(s State, n Node, t Try, reason string) (State, Answer) {
	had := s.lockOf(t).Owner == t.Owner && s.lockOf(t).lasts(n.Now)
	s = s.withTombstone(t.Owner, Tombstone{Reason: reason, Until: n.Now + 2*n.Grace}).withoutLock(t)
	if !had {
		return s, Answer{Code: None}
	}
	return s, Answer{Code: OK}
}

// Forget is N8: it deletes claims and records of a job without a lock. The returned
// Node keeps the marks that close its ticks and tokens.
func Forget(s State, n Node) (State, Node, Answer) {
	switch {
	case s.Lock.lasts(n.Now), n.Now <= s.Marker:
		return s, n, Answer{Code: Busy}
	case s.Fence == 0 && len(s.Runs.List) == 0 && s.Runs.Dropped == 0:
		return s, n, Answer{Code: None}
	}
	n.GCFence = max(n.GCFence, s.Fence)
	for _, c := range s.Streams {
		n.GCTick = max(n.GCTick, c.Tick)
	}
	return State{Tombstones: s.Tombstones}, n, Answer{Code: OK}
}

// ended frees what the try holds, and leaves a tombstone if a request of it may still
// arrive.
func (s State) ended(n Node, t Try, straggler bool) State {
	s = s.withoutLock(t)
	if s.Open == t.Owner {
		s.Open = ""
	}
	if straggler && s.dead(n, t) == nil { // else an operator's reason stays
		s = s.withTombstone(t.Owner, Tombstone{Until: n.Now + 2*t.TTL})
	}
	return s
}
