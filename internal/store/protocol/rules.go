// Package protocol is the claim protocol at one node, for one job: a [State] and one pure
// function per rule. A function takes the state, the clock and limits of its [Node],
// and a request. It returns the new state and the [Answer]. It reads no clock, draws no
// random value, and knows no store.
//
// The functions have three users: the simulation's nodes, the differential test of the
// Lua scripts, and stores with compare-and-swap, which load a state, apply a rule and
// write the state back.
//
// The names and numbers are those of locking/redlock/PROTOCOL.md: [Lock] is N2,
// [Commit] N3, [Extend] N4, [Finish] N5, [Void] and [Evict] N6, [Forget] N8 and [Look]
// N10. Locks of single ticks, for runs that may overlap, are N9. Change the Promela
// model first, then this package.
//
// Times are milliseconds since the Unix epoch.
package protocol

import (
	"cmp"
)

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
	if no := s.noVote(n, t, b); no != nil {
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
	if before := s.Streams[t.Stream]; before.Open() && !t.Plain {
		s.Runs = s.Runs.with(Record{TickKey: TickKey{t.Stream, before.Tick}, Owner: before.Owner, Note: before.Note}, b.Keep)
	}
	s.Fence, s.Open = b.Token, t.Owner
	s = s.withClaim(Claim{
		Stream: t.Stream, Tick: t.Tick, Token: b.Token, Owner: t.Owner, Mode: t.Mode, Attempt: b.Attempt, Note: b.Note, Overlaps: t.Overlaps,
	})
	s = s.withLock(t, committed)
	return s, s.granted(n, t)
}

// noVote is N3.1: the node has no vote on the claim. A holder that joins wants no vote,
// so it is not told that the node abstains.
func (s State) noVote(n Node, t Try, b Bid) *Answer {
	abstains := n.abstains(t)
	if b.Join {
		abstains = nil
	}
	return cmp.Or(s.dead(n, t), abstains, n.ahead(t), n.reaches(b.Token))
}

// refusal is N3.3 to N3.5. The lease of a holder that joins excludes all others.
func (s State) refusal(n Node, t Try, b Bid) *Answer {
	unended, fence := s.unended(n, t), s.fenceAt(n)
	if b.Join {
		unended, fence = nil, s.accepted(n)
	}
	no := cmp.Or(s.taken(n, t), s.busy(n, t), unended)
	if no == nil && (b.Token <= fence || b.Attempt <= s.attempts(t)) {
		return &Answer{Code: Stale, Fence: s.fenceAt(n), Attempt: s.attempts(t)}
	}
	return no
}

func (s State) granted(n Node, t Try) Answer {
	return Answer{Code: OK, Fence: s.fenceAt(n), Attempt: s.attempts(t)}
}

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
		s = s.withClaim(c)
	}
	s = s.ended(n, t, e.Straggler)
	if !t.Plain {
		s.Runs = s.Runs.drop(func(r Record) bool { return r.Owner == t.Owner }).with(Record{
			TickKey: t.tickKey(), Owner: t.Owner, Ended: code, Note: e.Note,
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
		s = s.withClaim(c)
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

const (
	perSecond   = 1 << 20 // tokens per second of clock
	tokensBelow = 1 << 53 // Lua's numbers are exact below this
)

// accepted is the largest token accepted. If nothing is stored of the job, it is that
// of all forgotten jobs.
func (s State) accepted(n Node) uint64 {
	if s.Fence == 0 {
		return n.GCFence
	}
	return s.Fence
}

// fenceAt is the largest token that the node has accepted for the job, or may have
// accepted and forgotten.
func (s State) fenceAt(n Node) uint64 {
	return max(s.accepted(n), uint64((n.Floor+999)/1000)*perSecond)
}

// attempts is the attempt number of the try's tick so far.
func (s State) attempts(t Try) int {
	if c := s.Streams[t.Stream]; c.Owner != "" && !t.Plain && c.Tick == t.Tick {
		return c.Attempt
	}
	return 0
}

// dead refuses a try that has ended.
func (s State) dead(n Node, t Try) *Answer {
	if tomb, ok := s.Tombstones[t.Owner]; ok && n.Now <= tomb.Until {
		return &Answer{Code: Dead, Reason: tomb.Reason}
	}
	return nil
}

// abstains is N0: the node may have forgotten claims of the tick, or a lease that
// lasts.
func (n Node) abstains(t Try) *Answer {
	switch {
	case t.Plain && n.Now <= n.Floor, !t.Plain && t.Tick <= n.Floor:
		return &Answer{Code: Abstain}
	case n.Now <= n.Floor: // it votes later
		return &Answer{Code: Future}
	}
	return nil
}

// ahead refuses a tick that the node might not exclude after a restart.
func (n Node) ahead(t Try) *Answer {
	if !t.Plain && t.Tick > n.Now+n.Grace/2 {
		return &Answer{Code: Future}
	}
	return nil
}

// reaches refuses a token too far ahead of the node's clock. Even a second more would
// be too much: after a restart the node's fence may begin right above.
func (n Node) reaches(token uint64) *Answer {
	if token < tokensBelow && token*1000 <= uint64(n.Now+n.Grace/2)*perSecond {
		return nil
	}
	return &Answer{Code: Future}
}

// taken is N2.2: the tick cannot be claimed.
func (s State) taken(n Node, t Try) *Answer {
	c := s.Streams[t.Stream]
	switch {
	case t.Plain:
		return nil
	case c.Owner == "" && t.Tick <= n.GCTick, c.Owner != "" && c.Tick > t.Tick:
		return s.because(n, Later, t)
	case c.Owner == "" || c.Tick != t.Tick:
		return nil
	case c.done():
		return s.because(n, Done, t)
	case c.excludes(t.Mode):
		return s.because(n, Claimed, t)
	}
	return nil
}

// because answers with the claim of the try's stream.
func (s State) because(n Node, code Code, t Try) *Answer {
	c := s.Streams[t.Stream]
	a := &Answer{Code: code, Claim: c}
	held := s.lockOf(Try{Stream: t.Stream, Tick: c.Tick, Overlaps: c.Overlaps})
	if held.Owner == c.Owner && held.lasts(n.Now) {
		a.Left = held.Until - n.Now
	}
	return a
}

// busy is N2.3 and N9: another try has the lock, or the other kind of lock blocks. The
// job's lock blocks all tries, the marker only tries for the job's lock.
func (s State) busy(n Node, t Try) *Answer {
	l := s.Lock
	if t.Overlaps && !l.lasts(n.Now) {
		l = s.lockOf(t)
	}
	switch {
	case l.Owner != t.Owner && l.lasts(n.Now):
		return &Answer{Code: Busy, Claim: s.claimOf(l.Owner), Left: l.Until - n.Now}
	case !t.Overlaps && n.Now <= s.Marker:
		return &Answer{Code: Busy, Claim: s.claimOf(s.Open), Left: s.Marker - n.Now}
	}
	return nil
}

// claimOf returns the claim of an owner, or the owner alone.
func (s State) claimOf(owner string) Claim {
	for _, c := range s.Streams {
		if c.Owner == owner {
			return c
		}
	}
	return Claim{Owner: owner}
}

// unended is N3.4: another claim has not ended, and the try does not have its lock. The
// lock of that claim's holder has expired here only, so its lease may last.
func (s State) unended(n Node, t Try) *Answer {
	c := s.claimOf(s.Open)
	l := s.lockOf(t)
	switch {
	case s.Open == "" || s.Open == t.Owner:
		return nil
	case l.Owner == t.Owner && l.lasts(n.Now):
		return nil
	case t.Overlaps && c.Overlaps && s.Streams[t.Stream].Owner != s.Open,
		t.Overlaps && c.Overlaps && c.Tick != t.Tick:
		return nil // they may run beside each other
	}
	return &Answer{Code: Unended, Claim: c}
}
