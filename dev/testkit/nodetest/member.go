package nodetest

import (
	"cmp"
)

// memory is N0: a blank node says so; another run_id means a restart, after which
// the node remembers nothing before now. It returns the refusal, if any.
func (c *call) memory() ([]string, error) {
	m := c.n.Member
	if m == nil {
		return []string{"BLANK", digits(c.now)}, nil
	}
	if no := c.otherFormat(); no != nil {
		return no, nil
	}
	n, err := numbers(m.Grace, m.Since)
	if err != nil {
		return nil, err
	}
	id, why := c.runID(m.Embedded == "1" && c.is(argEmbedded))
	if why != "" {
		return c.refuse("info", why), nil
	}
	c.id, c.grace, c.since = id, n[0], n[1]
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

// otherFormat refuses a node whose data has another format than the request.
func (c *call) otherFormat() []string {
	if m := c.n.Member; m.Format != c.args[argFormat] {
		return c.refuse("format", cmp.Or(m.Format, "1"))
	}
	return nil
}

// runID returns the server's run_id, or why it is unknown. An embedded server has a
// constant if the caller allows it, and so has one that cannot be told but forgets nothing.
func (c *call) runID(embedded bool) (id, why string) {
	switch {
	case c.n.InfoError == "":
		return c.n.RunID, ""
	case c.n.InfoError == Embedded && embedded:
		return "embedded", ""
	case c.is(argDurable):
		return "unseen", ""
	}
	return "", c.n.InfoError
}

// membership is N1: the request belongs to the node's cluster.
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
		return c.refuse("sealed", cmp.Or(m.SealedNames, m.SealedFor)), nil
	case !ok:
		return nil, scriptError("%q is not a ttl", c.args[argTTL])
	case ttl >= c.grace:
		return c.refuse("ttl", m.Grace), nil
	}
	return nil, nil
}

// peek returns the node's record.
func (c *call) peek() []string {
	m := c.n.Member
	served := ""
	if m.Served {
		served = "1"
	}
	return []string{
		"OK", digits(c.now), digits(c.floor), m.Name, m.Members, m.Epoch, m.Grace, c.id,
		digits(c.since), m.Embedded, m.SealedFor, m.Names, served, m.SealedNames, cmp.Or(m.SealedAt, "0"),
	}
}

// format makes a blank node a member: one that may have served before abstains for a
// grace. Arguments: 1 whether it may have served, 2 names of the members, 3 the latest
// clock of the seals of the list before, or 0.
func (c *call) format() ([]string, error) {
	if m := c.n.Member; m != nil {
		if no := c.otherFormat(); no != nil {
			return no, nil
		}
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
	sealed, no, err := c.settle(c.arg(3))
	if no != nil || err != nil {
		return no, err
	}
	since := 0.0
	if c.arg(1) == "1" {
		since = max(c.now, sealed)
	}
	m := c.newMember(since, c.arg(2))
	if sealed > 0 {
		m.Served, m.SealedAt = true, c.arg(3)
	}
	c.n.Member = m
	return []string{"OK", digits(c.now), digits(since + c.grace)}, nil
}

// settle checks any new membership: the run_id is known, leases are shorter than the
// grace, and the clock of the seals is not so far ahead that since would look like a
// clock set back.
func (c *call) settle(seals string) (sealed float64, no []string, err error) {
	id, why := c.runID(c.is(argEmbedded))
	if why != "" {
		return 0, c.refuse("info", why), nil
	}
	n, err := numbers(c.args[argTTL], c.args[argGrace], seals)
	if err != nil {
		return 0, nil, err
	}
	c.id, c.grace, sealed = id, n[1], n[2]
	switch {
	case n[0] >= c.grace:
		return 0, c.refuse("ttl", c.args[argGrace]), nil
	case sealed > c.now+c.grace/2:
		return 0, c.refuse("clock", digits(sealed-c.now)), nil
	}
	return sealed, nil, nil
}

// newMember returns a node formatted for the list of the request.
func (c *call) newMember(since float64, names string) *Member {
	return &Member{
		Format: c.args[argFormat], Name: c.args[argName], Members: c.args[argMembers], Epoch: c.args[argEpoch],
		Grace: c.args[argGrace], RunID: c.id, Since: digits(since), Embedded: flag(c.id == "embedded"), Names: names,
	}
}

// serve is a rule that only marks the node as serving replicas.
func (c *call) serve() ([]string, error) {
	return answer("OK")
}

// init is the operator's declaration that the node never served.
func (c *call) init() ([]string, error) {
	if c.n.Member.Served {
		return answer("SERVED")
	}
	c.n.Member.Since, c.floor = "0", c.grace
	return answer("OK")
}

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
