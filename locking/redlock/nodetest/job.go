package nodetest

import "math"

// The keys of a request about a job, and the arguments that all begin with.
func (c *call) lockKey() string  { return c.keys[1] }
func (c *call) claimKey() string { return c.keys[2] }
func (c *call) deadKey() string  { return c.keys[3] }
func (c *call) runsKey() string  { return c.keys[4] }

func (c *call) v() string      { return c.arg(1) }
func (c *call) stream() string { return c.arg(2) }
func (c *call) ttl() string    { return c.arg(4) }

// tick returns the tick of the request; a plain lock has none.
func (c *call) tick() (float64, bool) { return number(c.arg(3)) }

// stand returns where the stream of the request stands.
func (c *call) stand() Stand { return c.n.Claims[c.claimKey()].Streams[c.stream()] }

// setStand stores where the stream of the request stands.
func (c *call) setStand(s Stand) { c.n.Claims[c.claimKey()].Streams[c.stream()] = s }

// accepted is the largest token that this node has accepted for the job: that of
// the forgotten jobs, where it keeps nothing of this one.
func (c *call) accepted() float64 {
	fence, ok := number(c.n.Claims[c.claimKey()].Fence)
	if !ok {
		fence, _ = number(c.n.Member.GCFence)
	}
	return fence
}

// fence is the largest token that this node has accepted for the job, or may
// have accepted and lost.
func (c *call) fence() float64 {
	return math.Max(c.accepted(), math.Ceil(c.floor/1000)*(1<<20))
}

// sameTick tells whether the stream stands at the tick of the request.
func (c *call) sameTick() bool {
	tick, ticks := c.tick()
	stored, ok := number(c.stand().Tick)
	return ticks && ok && stored == tick
}

// attempts is how many claims of the tick of the request there were.
func (c *call) attempts() string {
	if c.sameTick() && c.stand().Attempt != "" {
		return c.stand().Attempt
	}
	return "0"
}

// noSay is N2.1, why the node has no say in the request, if it has none: the
// attempt was given up; the request is about what the node may have forgotten;
// or about what lies too far ahead of its clock, which every time does while
// leases may last that it has forgotten.
func (c *call) noSay() []string {
	tick, ticks := c.tick()
	about := tick
	if !ticks {
		about = c.now
	}
	_, _, dead := c.n.text(c.deadKey(), c.now)
	switch {
	case dead:
		return []string{"DEAD"}
	case about <= c.floor:
		return []string{"ABSTAIN", digits(c.floor)}
	case ticks && (c.now <= c.floor || tick > c.now+c.grace/2):
		return []string{"FUTURE"}
	}
	return nil
}

// closed is N2.2 and N3.3, why the tick of the request is not to be had, if it
// is not: a later one was claimed, here or, where nothing is kept of the stream,
// of any forgotten job; it was finished; it is claimed, and not by an owner who
// gave it back, and of the stored and the requested mode one says at most once.
// Claims of the owner mine are no obstacle.
func (c *call) closed(mode, mine string) []string {
	tick, ticks := c.tick()
	s := c.stand()
	stored, ok := number(s.Tick)
	past, _ := number(c.n.Member.GCTick)
	switch {
	case c.n.Without.Tick || !ticks:
		return nil
	case ok && stored > tick, !ok && tick <= past:
		return c.withClaim("LATER", c.stream())
	case !ok || stored < tick:
		return nil
	case s.Done:
		return c.withClaim("DONE", c.stream())
	case s.Owner == mine:
		return nil
	case s.Mode == "0" && !s.Void, s.Mode != "0" && mode == "0":
		return c.withClaim("CLAIMED", c.stream())
	}
	return nil
}

// free gives up the lock or the share of it, if it is the request's owner's.
func (c *call) free() {
	c.freeLock()
	if c.beside() && c.share().Owner == c.v() {
		c.n.setShare(c.sharesKey(), c.place(), Share{}, c.now)
	}
}

func (c *call) freeLock() {
	if owner, _, ok := c.n.text(c.lockKey(), c.now); ok && (owner == c.v() || c.n.Without.Compare) {
		delete(c.n.Texts, c.lockKey())
	}
}

// bury stores the tombstone of the request's owner, for twice the ttl.
func (c *call) bury() error {
	ttl, ok := number(c.ttl())
	if !ok {
		return scriptError("%q is not a ttl", c.ttl())
	}
	return c.n.setText(c.deadKey(), "1", digits(2*ttl), c.now)
}

// withClaim answers with the claim that a stream stands at.
func (c *call) withClaim(code, stream string) []string {
	s := c.n.Claims[c.claimKey()].Streams[stream]
	_, left, _ := c.n.text(c.lockKey(), c.now)
	if share := c.n.shares(c.sharesKey(), c.now)[stream+":"+s.Tick+"."]; s.Owner != "" && share.Owner == s.Owner {
		left = max(share.Until-c.now, 0)
	}
	return []string{code, s.Owner, digits(left), s.Holder, s.Tick, s.Token}
}
