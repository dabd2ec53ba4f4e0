package redlock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A sighting is what one node holds of one name.
type sighting struct {
	lock   string // the owner's value, empty if nobody has the lock
	left   time.Duration
	claim  claimed
	shares []share
}

// A share of a lock, and the claim it was accepted with, if it got that far.
type share struct {
	claimed
	left time.Duration
}

// claimed is the latest claim of a name; its owner is empty if there is none.
type claimed struct {
	stream        string
	owner, holder string
	token         locking.Token
	tick, at      time.Time
	attempt       int
	mode          locking.Mode
	done, void    bool
	beside        bool
}

// add reads what holding.lua answers about the names.
func (r *report) add(names []string, reply nodes.Reply) {
	p := parser{args: reply.Args}
	if r.held == nil {
		r.held = map[string]sighting{}
	}
	for _, name := range names {
		s := sighting{lock: p.text(), left: p.left()}
		s.claim = claimed{
			stream: p.text(), owner: p.text(), token: locking.Token(p.uint()), tick: p.instant(), attempt: int(p.uint()),
			mode: p.mode(), holder: p.text(), at: p.instant(), done: p.ended(), void: p.text() == "1",
		}
		for range min(p.uint(), uint64(len(p.args))) {
			s.shares = append(s.shares, p.share())
		}
		r.held[name] = s
	}
	if p.err != nil {
		r.err = fmt.Errorf("reading who holds what: %w", p.err)
	}
}

func (p *parser) share() share {
	c := claimed{stream: p.text(), tick: p.instant(), owner: p.text(), beside: true}
	left := p.left()
	c.token, c.attempt, c.mode = locking.Token(p.uint()), int(p.uint()), p.mode()
	c.holder, c.at = p.text(), p.instant()
	return share{claimed: c, left: left}
}

// ended reads whether a claim is done, or was handed over.
func (p *parser) ended() bool {
	text := p.text()
	return text == "1" || text == "2"
}

func (p *parser) mode() locking.Mode {
	if p.text() == modeArg(locking.AtLeastOnce) {
		return locking.AtLeastOnce
	}
	return locking.AtMostOnce
}

// left reads what is left of a lock, in the way of PTTL.
func (p *parser) left() time.Duration {
	text := p.text()
	ms, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && p.err == nil:
		p.err = err
	case ms == -1:
		return Endless
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// A picture is what the nodes that answered hold of one name.
type picture struct {
	claims map[string]claimed         // by owner
	locks  map[string][]time.Duration // by owner: what is left on each node that holds it
	open   map[string]int             // by owner: nodes without a lock that hold its claim
}

func newPicture() picture {
	return picture{claims: map[string]claimed{}, locks: map[string][]time.Duration{}, open: map[string]int{}}
}

// merge makes one list of what the nodes that answered hold.
func merge(set *nodes.Set, doing string, all []report) ([]Holding, error) {
	good, err := answered(set, doing, all)
	if err != nil {
		return nil, err
	}
	pictures := map[string]picture{}
	for _, r := range good {
		for name, s := range r.held {
			if _, ok := pictures[name]; !ok {
				pictures[name] = newPicture()
			}
			pictures[name].add(s)
		}
	}
	var list []Holding
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		list = append(list, pictures[name].holdings(name, set.Len(), len(good))...)
	}
	return list, nil
}

func (p picture) add(s sighting) {
	if s.lock != "" {
		p.locks[s.lock] = append(p.locks[s.lock], s.left)
	}
	shared := slices.ContainsFunc(s.shares, func(sh share) bool { return sh.owner == s.claim.owner })
	if s.lock == "" && !shared && !s.claim.done && !s.claim.void {
		p.open[s.claim.owner]++
	}
	for _, sh := range s.shares {
		p.locks[sh.owner] = append(p.locks[sh.owner], sh.left)
		p.claims[sh.owner] = p.claims[sh.owner].with(sh.claimed)
	}
	if s.claim.owner != "" {
		p.claims[s.claim.owner] = p.claims[s.claim.owner].with(s.claim)
	}
}

// with merges what two nodes say of one owner's claim. What either knows to be
// over is over; of two tokens the owner went on with the larger.
func (c claimed) with(d claimed) claimed {
	beside := c.beside || d.beside
	if d.token > c.token || c.owner == "" {
		c, d = d, c
	}
	c.beside = beside
	if d.token == c.token {
		c.done, c.void = c.done || d.done, c.void || d.void
		if d.at.Before(c.at) {
			c.at = d.at
		}
	}
	return c
}

// holdings lists the owners that have the lock on some node, those on most
// first, and the owner of the latest claim if that was left open.
func (p picture) holdings(name string, of, answered int) []Holding {
	var latest claimed
	for _, c := range p.claims {
		if c.token > latest.token {
			latest = c
		}
	}
	owners := slices.Collect(maps.Keys(p.locks))
	if _, locked := p.locks[latest.owner]; !locked && latest.owner != "" && !latest.done && !latest.void {
		owners = append(owners, latest.owner)
	}
	var list []Holding
	for _, owner := range owners {
		c, lefts := p.claims[owner], p.locks[owner]
		list = append(list, Holding{
			Stream: c.stream, Beside: c.beside, Name: name, Holder: c.holder, Tick: c.tick, Token: c.token, Attempt: c.attempt, Mode: c.mode, Since: c.at,
			Left: agreedLeft(lefts, of/2+1), On: locking.Votes{For: len(lefts), Of: of}, Done: c.done, Void: c.void,
			owner: owner, open: p.open[owner], silent: of - answered,
		})
	}
	slices.SortFunc(list, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.On.For, a.On.For), cmp.Compare(b.Token, a.Token), cmp.Compare(a.owner, b.owner))
	})
	return list
}

// agreedLeft is how long a quorum of q nodes goes on holding the lock.
func agreedLeft(lefts []time.Duration, q int) time.Duration {
	if len(lefts) < q {
		return 0
	}
	slices.SortFunc(lefts, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return lefts[q-1]
}
