package nodetest

// seal is M2 on a node of the old list: for the change to one target it refuses all but
// finishes and reads. Arguments: 1 the target, 2 names of the new list. It returns the
// latest clock reading.
func (c *call) seal() ([]string, error) {
	m := c.n.Member
	switch m.SealedFor {
	case c.arg(1):
	case "":
		m.SealedFor, m.SealedNames, m.SealedAt = c.arg(1), c.arg(2), digits(max(c.now, c.since))
	default:
		return answer("OTHER", m.SealedNames)
	}
	return answer("OK", m.SealedAt)
}

// open is M2 on a node of the new list: blank, or a member of the old one, sealed or
// not. It remembers since now, but not before the seals. Arguments: 1 names of the
// members, 2 the latest clock of the seals, 3 hash of the old list.
func (c *call) open() ([]string, error) {
	if no, err := c.opened(); no != nil || err != nil {
		return no, err
	}
	sealed, no, err := c.settle(c.arg(2))
	if no != nil || err != nil {
		return no, err
	}
	since := max(c.now, sealed)
	m := c.newMember(since, c.arg(1))
	m.Served, m.SealedAt = true, digits(sealed)
	if old := c.n.Member; old != nil {
		m.GCFence, m.GCTick = old.GCFence, old.GCTick
	}
	c.n.Member = m
	return []string{"OK", digits(c.now), digits(since + c.grace)}, nil
}

// opened is the answer of a node that is open already, or cannot be opened.
func (c *call) opened() ([]string, error) {
	m := c.n.Member
	if m == nil {
		return nil, nil
	}
	if no := c.otherFormat(); no != nil {
		return no, nil
	}
	n, err := numbers(m.Since, m.Grace, m.Epoch, c.args[argEpoch])
	if err != nil {
		return nil, err
	}
	switch {
	case m.Members == c.args[argMembers] && m.Epoch == c.args[argEpoch]:
		return []string{"HELD", digits(c.now), digits(n[0] + n[1])}, nil
	case m.Members != c.arg(3) || n[2]+1 != n[3]:
		return c.refuse("members", m.Names), nil
	case m.Name != c.args[argName]:
		return c.refuse("name", m.Name), nil
	}
	return nil, nil
}
