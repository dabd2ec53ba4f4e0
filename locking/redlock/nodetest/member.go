package nodetest

// incarnation is N0: a blank node says so; another run_id is another life, of
// which the node remembers nothing before now. It returns the refusal, if any.
func (c *call) incarnation() ([]string, error) {
	m := c.n.Member
	if m == nil {
		return []string{"BLANK", digits(c.now)}, nil
	}
	n, err := numbers(m.Format, c.args[argFormat], m.Grace, m.Since)
	if err != nil {
		return nil, err
	}
	if n[0] > n[1] {
		return c.refuse("format", m.Format), nil
	}
	id, why := c.runID(m.Embedded == "1" && c.is(argEmbedded))
	if why != "" {
		return c.refuse("info", why), nil
	}
	c.id, c.grace, c.since = id, n[2], n[3]
	if id != m.RunID && !c.n.Without.Restart {
		if !c.is(argDurable) {
			c.since = c.now
		}
		m.RunID, m.Since = id, digits(c.since)
	}
	if c.since > c.now+c.grace { // the clock was set back
		c.since = c.now
		m.Since = digits(c.since)
	}
	c.floor = c.since + c.grace
	return nil, nil
}

// runID returns what the server calls its present life, or why it cannot be
// known. A constant stands in for an embedded server, where the caller allows
// that.
func (c *call) runID(embedded bool) (id, why string) {
	switch {
	case c.n.InfoError == "":
		return c.n.RunID, ""
	case c.n.InfoError == Embedded && embedded:
		return "embedded", ""
	}
	return "", c.n.InfoError
}

// membership is N1: the request is of the same cluster as the node.
func (c *call) membership() ([]string, error) {
	m := c.n.Member
	ttl, ok := number(c.args[argTTL])
	switch {
	case m.Members != c.args[argMembers]:
		return c.refuse("members", m.Names), nil
	case m.Epoch != c.args[argEpoch]:
		return c.refuse("epoch", m.Epoch), nil
	case m.Name != c.args[argName]:
		return c.refuse("name", m.Name), nil
	case m.Grace != c.args[argGrace]:
		return c.refuse("grace", m.Grace), nil
	case m.SealedFor != "" && !c.is(argSealed):
		return c.refuse("sealed", m.SealedFor), nil
	case !ok:
		return nil, scriptError("%q is not a ttl", c.args[argTTL])
	case ttl >= c.grace:
		return c.refuse("ttl", m.Grace), nil
	}
	return nil, nil
}

// peek shows what the node holds of itself.
func (c *call) peek() []string {
	m := c.n.Member
	served := ""
	if m.Served {
		served = "1"
	}
	return []string{
		"OK", digits(c.now), digits(c.floor), m.Name, m.Members, m.Epoch, m.Grace, c.id,
		digits(c.since), m.Embedded, m.SealedFor, m.Names, served,
	}
}

// format makes a blank node a member: one that may have served before abstains
// for a grace, a new one never did.
func (c *call) format() ([]string, error) {
	if m := c.n.Member; m != nil {
		switch {
		case m.Members != c.args[argMembers]:
			return c.refuse("members", m.Names), nil
		case m.Epoch != c.args[argEpoch]:
			return c.refuse("epoch", m.Epoch), nil
		}
		n, err := numbers(m.Since, m.Grace)
		if err != nil {
			return nil, err
		}
		return []string{"HELD", digits(c.now), digits(n[0] + n[1])}, nil
	}
	id, why := c.runID(c.is(argEmbedded))
	if why != "" {
		return c.refuse("info", why), nil
	}
	n, err := numbers(c.args[argTTL], c.args[argGrace])
	if err != nil {
		return nil, err
	}
	ttl, grace := n[0], n[1]
	if ttl >= grace {
		return c.refuse("ttl", c.args[argGrace]), nil
	}
	since := 0.0
	if c.arg(1) == "1" {
		since = c.now
	}
	c.n.Member = &Member{
		Format: c.args[argFormat], Name: c.args[argName], Members: c.args[argMembers], Epoch: c.args[argEpoch],
		Grace: c.args[argGrace], RunID: id, Since: digits(since), Embedded: flag(id == "embedded"), Names: c.arg(2),
	}
	return []string{"OK", digits(c.now), digits(since + grace)}, nil
}

// init is the operator's word that the node never served.
func (c *call) init() ([]string, error) {
	if c.n.Member.Served {
		return answer("SERVED")
	}
	c.n.Member.Since, c.floor = "0", c.grace
	return answer("OK")
}
