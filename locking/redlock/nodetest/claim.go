package nodetest

// acquire is N2: the lock, unless the tick is closed or somebody else has it.
// Argument 5 is the mode.
func (c *call) acquire() ([]string, error) {
	if no := c.noSay(); no != nil {
		return no, nil
	}
	if no := c.closed(c.arg(5), ""); no != nil {
		return no, nil
	}
	if c.lockedOut() {
		return c.withLock("BUSY"), nil
	}
	if err := c.n.setText(c.lockKey(), c.v(), c.ttl(), c.now); err != nil {
		return nil, err
	}
	return answer("OK", digits(c.fence()), c.attempts())
}

// commit is N3: the token for the tick. Arguments: 5 token, 6 mode, 7 attempt, 8
// holder, 9 records to keep, 10 the record, 11… records of tokens given up.
func (c *call) commit() ([]string, error) {
	if no := c.noSay(); no != nil {
		return no, nil
	}
	token, ok := number(c.arg(5))
	if !ok {
		return nil, scriptError("%q is not a token", c.arg(5))
	}
	if token > (c.now+c.grace/2)/1000*(1<<20) || token >= 1<<53 {
		return answer("FUTURE")
	}
	s := c.stand()
	mine := s.Owner == c.v()
	if mine && s.Token == c.arg(5) && s.Tick == c.arg(3) && !s.Void { // asked again
		if !c.lockedOut() {
			if err := c.n.setText(c.lockKey(), c.v(), c.ttl(), c.now); err != nil {
				return nil, err
			}
		}
		return answer("OK", digits(c.fence()), c.attempts())
	}
	if c.lockedOut() {
		return c.withLock("LOST"), nil
	}
	if no := c.closed(c.arg(6), c.v()); no != nil {
		return no, nil
	}
	if token <= c.fence() && !c.n.Without.Fence {
		return c.stale()
	}
	if c.sameTick() && !mine && !c.n.Without.Tick {
		n, err := numbers(c.arg(7), s.Attempt)
		if err != nil {
			return nil, err
		}
		if n[0] <= n[1] {
			return c.stale()
		}
	}
	return c.accept()
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
	claim.Fence, claim.Stream = c.arg(5), c.stream()
	claim.Streams[c.stream()] = Stand{
		Tick: c.arg(3), Token: c.arg(5), Owner: c.v(), Mode: c.arg(6), Attempt: c.arg(7), Holder: c.arg(8), At: digits(c.now),
		RanOut: claim.Streams[c.stream()].RanOut, // of an earlier tick; said anew with done
	}
	c.n.Claims[c.claimKey()] = claim
	if err := c.n.setText(c.lockKey(), c.v(), c.ttl(), c.now); err != nil {
		return nil, err
	}
	for _, givenUp := range c.rest(11) {
		c.n.dropRun(c.runsKey(), "S"+givenUp)
	}
	if record := c.arg(10); record != "" {
		if err := c.n.addRun(c.runsKey(), c.arg(3), "S"+record); err != nil {
			return nil, err
		}
		if err := c.n.boundRuns(c.runsKey(), c.arg(9)); err != nil {
			return nil, err
		}
	}
	return answer("OK", c.arg(5), c.arg(7))
}
