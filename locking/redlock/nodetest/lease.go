package nodetest

import "cmp"

// extend is N4: the lock anew, unless the claim was superseded or given back.
// Argument 5 is the token.
func (c *call) extend() ([]string, error) {
	switch why, _, dead := c.n.text(c.deadKey(), c.now); {
	case dead && why != "1":
		return answer("DEAD", why)
	case dead:
		return answer("DEAD")
	}
	claim := c.n.Claims[c.claimKey()]
	token, ok := number(c.arg(5))
	if !ok {
		return nil, scriptError("%q is not a token", c.arg(5))
	}
	// Not the fence of a restart: it would end leases that last.
	if c.accepted() > token {
		return c.withClaim("LOST", cmp.Or(claim.Stream, c.stream())), nil
	}
	owner, _, locked := c.n.text(c.lockKey(), c.now)
	if locked && owner != c.v() {
		return c.withLock("LOST"), nil
	}
	about, ticks := c.tick()
	if !ticks {
		about = c.now
	}
	s := c.stand()
	ours := s.Owner == c.v() && s.Token == c.arg(5) && !s.Done && !s.Void
	if !locked && (!ours || about <= c.floor) {
		return c.withClaim("LOST", c.stream()), nil
	}
	if err := c.n.setText(c.lockKey(), c.v(), c.ttl(), c.now); err != nil {
		return nil, err
	}
	return answer("OK")
}

// finish is N5: the tick is done, if the claim is still this one, and it is told
// whether the lock was, too. Arguments: 5 token, 6 records to keep, 7 and 8 the
// record of the start and of the end.
func (c *call) finish() ([]string, error) {
	s := c.stand()
	held := s.Owner == c.v() && s.Token == c.arg(5)
	owner, _, locked := c.n.text(c.lockKey(), c.now)
	c.free() // before all else, as a server that is out of memory wants it
	if held && !s.Done {
		s.Done, s.RanOut = true, flag(!locked || owner != c.v())
		if token, _ := number(c.arg(5)); c.accepted() > token {
			s.RanOut = "2"
		}
		c.setStand(s)
	}
	late := !held || s.RanOut == "2"
	if record := c.arg(8); record != "" {
		kind := "F"
		if late {
			kind = "L"
		}
		c.n.dropRun(c.runsKey(), "S"+c.arg(7))
		if err := c.n.addRun(c.runsKey(), c.arg(3), kind+record); err != nil {
			return nil, err
		}
		if err := c.n.boundRuns(c.runsKey(), c.arg(6)); err != nil {
			return nil, err
		}
	}
	switch {
	case late:
		return c.withClaim("LATE", cmp.Or(c.n.Claims[c.claimKey()].Stream, c.stream())), nil
	case s.RanOut == "1":
		return answer("RANOUT")
	}
	return answer("OK")
}

// abort is N6 before COMMIT: the lock is freed; where argument 5 says that a
// request may still arrive, it will find a tombstone.
func (c *call) abort() ([]string, error) {
	if c.arg(5) == "1" {
		if err := c.bury(); err != nil {
			return nil, err
		}
	}
	c.free()
	return answer("OK")
}

// void is N6 after COMMIT: the tick is free for others, older ticks and tokens
// stay closed. Arguments 5… are records of starts that did not happen.
func (c *call) void() ([]string, error) {
	if err := c.bury(); err != nil {
		return nil, err
	}
	c.free()
	if s := c.stand(); s.Owner == c.v() && !s.Done {
		s.Void = true
		c.setStand(s)
	}
	for _, record := range c.rest(5) {
		c.n.dropRun(c.runsKey(), "S"+record)
	}
	return answer("OK")
}
