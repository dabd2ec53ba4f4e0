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
	lock  string // the owner's value, empty if nobody has the lock
	left  time.Duration
	claim claimed
}

// claimed is the latest claim of a name; its owner is empty if there is none.
type claimed struct {
	owner, holder string
	token         locking.Token
	tick, at      time.Time
	attempt       int
	mode          locking.Mode
	done, void    bool
}

// add reads what holding.lua answers about the names.
func (r *report) add(names []string, reply nodes.Reply) {
	p := parser{args: reply.Args}
	if r.held == nil {
		r.held = map[string]sighting{}
	}
	for _, name := range names {
		s := sighting{lock: p.text(), left: p.left()}
		c := claimed{
			owner: p.text(), token: locking.Token(p.uint()), tick: p.instant(), attempt: int(p.uint()),
			mode: locking.AtMostOnce,
		}
		if p.text() == modeArg(locking.AtLeastOnce) {
			c.mode = locking.AtLeastOnce
		}
		c.holder, c.at, c.done, c.void = p.text(), p.instant(), p.text() == "1", p.text() == "1"
		s.claim = c
		r.held[name] = s
	}
	if p.err != nil {
		r.err = fmt.Errorf("reading who holds what: %w", p.err)
	}
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
	if s.lock == "" && !s.claim.done && !s.claim.void {
		p.open[s.claim.owner]++
	}
	if s.claim.owner != "" {
		p.claims[s.claim.owner] = p.claims[s.claim.owner].with(s.claim)
	}
}

// with merges what two nodes say of one owner's claim. What either knows to be
// over is over; of two tokens the owner went on with the larger.
func (c claimed) with(d claimed) claimed {
	if d.token > c.token {
		c, d = d, c
	}
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
			Name: name, Holder: c.holder, Tick: c.tick, Token: c.token, Attempt: c.attempt, Mode: c.mode, Since: c.at,
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
