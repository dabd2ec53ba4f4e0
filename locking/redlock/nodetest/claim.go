package nodetest

// acquire is N2: the lock, unless the tick is closed or somebody else has it.
func (c *call) acquire() ([]string, error) {
	if no := c.obstacle(); no != nil {
		return no, nil
	}
	if err := c.take(); err != nil {
		return nil, err
	}
	return answer("OK", digits(c.fence()), c.attempts())
}

// look is N9: what acquire would say to somebody new.
func (c *call) look() ([]string, error) {
	if no := c.obstacle(); no != nil {
		return no, nil
	}
	return answer("OK", digits(c.fence()), c.attempts())
}

// obstacle is why the tick is not to be had, if it is not. Argument 6 is the mode.
func (c *call) obstacle() []string {
	if no := c.noSay(); no != nil {
		return no
	}
	if no := c.closed(c.arg(6), ""); no != nil {
		return no
	}
	if _, _, is := c.inTheWay(); is {
		return c.inTheWayOf("BUSY")
	}
	return nil
}

// commit is N3: the token for the tick. Arguments: 6 token, 7 mode, 8 attempt, 9
// holder, 10 records to keep, 11 the record, 12… records of tokens given up.
func (c *call) commit() ([]string, error) {
	if no := c.noSay(); no != nil {
		return no, nil
	}
	token, ok := number(c.arg(6))
	if !ok {
		return nil, scriptError("%q is not a token", c.arg(6))
	}
	if token > (c.now+c.grace/2)/1000*(1<<20) || token >= 1<<53 {
		return answer("FUTURE")
	}
	s := c.stand()
	mine := s.Owner == c.v()
	if mine && s.Token == c.arg(6) && s.Tick == c.arg(3) && !s.Void { // asked again
		if c.renewable(token) {
			if err := c.takeClaimed(); err != nil {
				return nil, err
			}
		}
		return answer("OK", digits(c.fence()), c.attempts())
	}
	if no := c.closed(c.arg(7), c.v()); no != nil {
		return no, nil
	}
	if _, _, is := c.inTheWay(); is {
		return c.inTheWayOf("LOST"), nil
	}
	if token <= c.fence() && !c.n.Without.Fence {
		return c.stale()
	}
	if c.sameTick() && !mine && !c.n.Without.Tick {
		n, err := numbers(c.arg(8), s.Attempt)
		if err != nil {
			return nil, err
		}
		if n[0] <= n[1] {
			return c.stale()
		}
	}
	return c.accept()
}

// renewable tells whether what a commit that is asked again has is to be renewed.
// A share without the token is not, where a larger one was accepted: somebody
// may have had the lock meanwhile.
func (c *call) renewable(token float64) bool {
	if _, _, is := c.inTheWay(); is {
		return false
	}
	if !c.beside() {
		return true
	}
	has, ended := c.hasShare(c.arg(6))
	return !ended && (has || c.accepted() <= token)
}

func (c *call) stale() ([]string, error) {
	return answer("STALE", digits(c.fence()), c.attempts())
}

// accept is N3.7: everything of the claim, the lock, and the record.
func (c *call) accept() ([]string, error) {
	c.n.Member.Served = true
	claim := c.n.Claims[c.claimKey()]
	if claim.Streams == nil {
		claim.Streams = map[string]Stand{}
	}
	before := claim.Streams[c.stream()]
	claim.Fence, claim.Stream = c.arg(6), c.stream()
	claim.Streams[c.stream()] = Stand{
		Tick: c.arg(3), Token: c.arg(6), Owner: c.v(), Mode: c.arg(7), Attempt: c.arg(8), Holder: c.arg(9), At: digits(c.now),
		RanOut: before.RanOut, // of an earlier tick; said anew with done
	}
	c.n.Claims[c.claimKey()] = claim
	if err := c.takeClaimed(); err != nil {
		return nil, err
	}
	c.sweepShares()
	for _, givenUp := range c.rest(12) {
		c.n.dropRun(c.runsKey(), "S"+givenUp)
	}
	if record := c.arg(11); record != "" {
		if err := c.n.addRun(c.runsKey(), c.arg(3), "S"+record); err != nil {
			return nil, err
		}
		if before.Owner != "" && !before.Done { // no finish has
			if err := c.n.boundRuns(c.runsKey(), c.arg(10)); err != nil {
				return nil, err
			}
		}
	}
	return answer("OK", c.arg(6), c.arg(8))
}
