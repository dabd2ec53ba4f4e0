package nodetest

import (
	"maps"
	"slices"
	"strings"
)

// Shares are those of a job's lock, by their place: "<stream>:<tick>.".
type Shares struct {
	Expires float64 // ms, of all together; 0: never
	Of      map[string]Share
}

// A Share lets an attempt run beside those of other ticks. Token and what
// follows are empty until its claim was accepted.
type Share struct {
	Owner                            string
	Until                            float64 // ms
	Token, Attempt, Mode, Holder, At string
	Done                             bool
}

func (s Share) counts(now float64) bool { return s.Owner != "" && s.Until >= now && !s.Done }

// shares returns the shares at a key that have not run out all together.
func (s *State) shares(key string, now float64) map[string]Share {
	all := s.Shares[key]
	if all.Expires != 0 && now > all.Expires {
		delete(s.Shares, key)
		return nil
	}
	return all.Of
}

// setShare stores a share; one without an owner is dropped.
func (s *State) setShare(key, place string, share Share, now float64) {
	s.shares(key, now) // drops them if they have run out
	all := s.Shares[key]
	if share.Owner == "" {
		delete(all.Of, place)
	} else {
		if all.Of == nil {
			all.Of = map[string]Share{}
		}
		all.Of[place] = share
	}
	s.Shares[key] = all
	if len(all.Of) == 0 {
		delete(s.Shares, key)
	}
}

func (c *call) sharesKey() string { return c.keys[5] }
func (c *call) beside() bool      { return c.arg(5) == "1" }
func (c *call) place() string     { return c.stream() + ":" + c.arg(3) + "." }

// share returns that of the request's tick.
func (c *call) share() Share { return c.n.shares(c.sharesKey(), c.now)[c.place()] }

// hasShare tells whether the request's owner has a share that was accepted with
// the token, and whether its run has ended.
func (c *call) hasShare(token string) (has, ended bool) {
	s := c.share()
	return s.Owner == c.v() && token != "" && s.Token == token && s.Until >= c.now, s.Done
}

// inTheWay returns who keeps the request's owner from the lock, or from its
// share, and the place of that one's share if it has one.
func (c *call) inTheWay() (owner, place string, is bool) {
	if owner, _, ok := c.n.text(c.lockKey(), c.now); ok && owner != c.v() {
		return owner, "", true
	}
	all := c.n.shares(c.sharesKey(), c.now)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if all[p].counts(c.now) && all[p].Owner != c.v() && (!c.beside() || p == c.place()) {
			return all[p].Owner, p, true
		}
	}
	return "", "", false
}

// inTheWayOf answers with whoever is in the way, and with its claim if it got
// that far.
func (c *call) inTheWayOf(code string) []string {
	owner, place, _ := c.inTheWay()
	if place != "" {
		s := c.n.shares(c.sharesKey(), c.now)[place]
		tick := ""
		if s.Token != "" {
			tick = place[strings.LastIndexByte(place, ':')+1 : len(place)-1]
		}
		return []string{code, owner, digits(s.Until - c.now), s.Holder, tick, s.Token}
	}
	claim, ok := c.n.Claims[c.claimKey()]
	if ok && claim.Streams[claim.Stream].Owner == owner {
		return c.withClaim(code, claim.Stream)
	}
	_, left, _ := c.n.text(c.lockKey(), c.now)
	return []string{code, owner, digits(left), "", "", ""}
}

// take takes the lock or the share of it, or renews what the owner has.
func (c *call) take() error {
	if !c.beside() {
		return c.n.setText(c.lockKey(), c.v(), c.ttl(), c.now)
	}
	ttl, ok := number(c.ttl())
	if !ok {
		return scriptError("%q is not a ttl", c.ttl())
	}
	s := c.share()
	if s.Owner != c.v() {
		c.n.setShare(c.sharesKey(), c.place(), Share{}, c.now)
		s = Share{Owner: c.v()}
	}
	s.Until = c.now + ttl
	c.n.setShare(c.sharesKey(), c.place(), s, c.now)
	if all := c.n.Shares[c.sharesKey()]; all.Expires < c.now+ttl {
		all.Expires = c.now + ttl
		c.n.Shares[c.sharesKey()] = all
	}
	return nil
}

// takeClaimed takes it for the stored claim, which is the owner's.
func (c *call) takeClaimed() error {
	if err := c.take(); err != nil || !c.beside() {
		return err
	}
	s, claim := c.share(), c.stand()
	s.Token, s.Attempt, s.Mode, s.Holder, s.At = claim.Token, claim.Attempt, claim.Mode, claim.Holder, claim.At
	c.n.setShare(c.sharesKey(), c.place(), s, c.now)
	return nil
}

// sweepShares drops those that have run out.
func (c *call) sweepShares() {
	for place, s := range maps.Clone(c.n.shares(c.sharesKey(), c.now)) {
		if s.Until < c.now {
			c.n.setShare(c.sharesKey(), place, Share{}, c.now)
		}
	}
}
