package nodetest

import "cmp"

// extend is N4: the lock anew, unless the claim was superseded or given back.
// Argument 6 is the token. It answers RENEWED or SET.
func (c *call) extend() ([]string, error) {
	switch why, _, dead := c.n.text(c.deadKey(), c.now); {
	case dead && why != "1":
		return answer("DEAD", why)
	case dead:
		return answer("DEAD")
	}
	if has, ended := c.hasShare(c.arg(6)); has && !ended && c.beside() {
		return extended("RENEWED", c.take())
	}
	claim := c.n.Claims[c.claimKey()]
	token, ok := number(c.arg(6))
	if !ok {
		return nil, scriptError("%q is not a token", c.arg(6))
	}
	// Not the fence of a restart: it would end leases that last.
	if c.accepted() > token {
		return c.withClaim("LOST", cmp.Or(claim.Stream, c.stream())), nil
	}
	if owner, _, locked := c.n.text(c.lockKey(), c.now); locked && owner == c.v() && !c.beside() {
		return extended("RENEWED", c.take())
	}
	if _, _, is := c.inTheWay(); is {
		return c.inTheWayOf("LOST"), nil
	}
	about, ticks := c.tick()
	if !ticks {
		about = c.now
	}
	s := c.stand()
	if s.Owner != c.v() || s.Token != c.arg(6) || s.Done || s.Handed || s.Void || about <= c.floor {
		return c.withClaim("LOST", c.stream()), nil
	}
	return extended("SET", c.takeClaimed())
}

func extended(code string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	return answer(code)
}

// finish is N5: the tick is done, if the claim is still this one, and it is told
// whether the lock was, too. Arguments: 6 token, 7 records to keep, 8 and 9 the
// record of the start and of the end, 10 whether the tick is handed over: then it
// is not done, and late requests of the owner find a tombstone.
func (c *call) finish() ([]string, error) {
	had, err := c.end() // before all else, as a server that is out of memory wants it
	if err != nil {
		return nil, err
	}
	s := c.stand()
	held := s.Owner == c.v() && s.Token == c.arg(6)
	handover := c.arg(10) == "1"
	if held && !s.Done && !s.Handed {
		s.Done, s.Handed, s.RanOut = !handover, handover, flag(!had)
		if token, _ := number(c.arg(6)); c.accepted() > token && (!had || !c.beside()) {
			s.RanOut = "2"
		}
		c.setStand(s)
	}
	if handover {
		if err := c.bury(); err != nil {
			return nil, err
		}
	}
	late := !had || !c.beside()
	if held {
		late = s.RanOut == "2"
	}
	if record := c.arg(9); record != "" {
		kind := "F"
		if late {
			kind = "L"
		}
		if err := c.n.addRun(c.runsKey(), c.arg(3), kind+record); err != nil {
			return nil, err
		}
		c.n.dropRun(c.runsKey(), "S"+c.arg(8))
		if err := c.n.boundRuns(c.runsKey(), c.arg(7)); err != nil {
			return nil, err
		}
	}
	switch {
	case late:
		return c.withClaim("LATE", cmp.Or(c.n.Claims[c.claimKey()].Stream, c.stream())), nil
	case held && s.RanOut == "1":
		return answer("RANOUT")
	}
	return answer("OK")
}

// end frees the lock and tells whether it was the owner's. A share stays for a
// while, to answer alike when asked again.
func (c *call) end() (had bool, err error) {
	if !c.beside() {
		owner, _, locked := c.n.text(c.lockKey(), c.now)
		c.free()
		return locked && owner == c.v(), nil
	}
	c.freeLock()
	if had, _ = c.hasShare(c.arg(6)); !had {
		c.free()
		return false, nil
	}
	s := c.share()
	s.Done = false // what a request that fails leaves behind
	c.n.setShare(c.sharesKey(), c.place(), s, c.now)
	if err := c.take(); err != nil {
		return false, err
	}
	s = c.share()
	s.Done = true
	c.n.setShare(c.sharesKey(), c.place(), s, c.now)
	return true, nil
}

// abort is N6 before COMMIT: the lock is freed; where argument 6 says that a
// request may still arrive, it will find a tombstone.
func (c *call) abort() ([]string, error) {
	if c.arg(6) == "1" {
		if err := c.bury(); err != nil {
			return nil, err
		}
	}
	c.free()
	return answer("OK")
}

// void is N6 after COMMIT: the tick is free for others, older ticks and tokens
// stay closed. Arguments 6… are records of starts that did not happen.
func (c *call) void() ([]string, error) {
	if err := c.bury(); err != nil {
		return nil, err
	}
	c.free()
	if s := c.stand(); s.Owner == c.v() && !s.Done {
		s.Void = true
		c.setStand(s)
	}
	for _, record := range c.rest(6) {
		c.n.dropRun(c.runsKey(), "S"+record)
	}
	return answer("OK")
}
