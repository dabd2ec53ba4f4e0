package protocol

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

// FenceAt is the largest token that the node has accepted for the job, or may have
// accepted and forgotten.
func (s State) FenceAt(n Node) uint64 {
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
