package redlock

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/records"
	"github.com/quorate/quorate/locking"
)

// A sighting is what one node stores of one name.
type sighting struct {
	lock   string // the owner's value, "" without a lock
	left   time.Duration
	claims []claimed
}

// claimed is a claim of a name, with its state.
type claimed struct {
	records.Claim
	done, void bool
	rerun      bool // it was finished, but its tick is not done
	// lock is the value in the tick's own lock, if that exists.
	lock string
	left time.Duration
}

// readSightings reads the reply of holding.lua.
func readSightings(held map[string]sighting, names, reply []string) error {
	p := parser{args: reply}
	for _, name := range names {
		s := sighting{lock: p.owner(), left: p.left()}
		for range min(p.uint(), uint64(len(p.args))) {
			s.claims = append(s.claims, p.claim())
		}
		held[name] = s
	}
	return p.err
}

func (p *parser) claim() claimed {
	state := p.text()
	c, err := records.Unpack(p.text())
	if err != nil && p.err == nil {
		p.err = err
	}
	return claimed{
		Claim: c, done: state != "-" && state != "V", void: state == "V", rerun: state == strings.ToLower(state),
		lock: p.owner(), left: p.left(),
	}
}

// owner reads a lock's value without the mark of LOCK.
func (p *parser) owner() string { return strings.TrimPrefix(p.text(), "?") }

// left reads a PTTL.
func (p *parser) left() time.Duration {
	text := p.text()
	ms, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil && p.err == nil:
		p.err = err
	case ms == -1:
		return locking.Endless
	}
	return time.Duration(max(ms, 0)) * time.Millisecond
}

// A picture is what the nodes that answered store of one name.
type picture struct {
	claims map[string]claimed         // by owner
	locks  map[string][]time.Duration // by owner: the time left on each node that holds it
	free   int                        // nodes without a lock
}

func newPicture() *picture {
	return &picture{claims: map[string]claimed{}, locks: map[string][]time.Duration{}}
}

// merge combines the sightings of all nodes into one list. A nil map is a node that did
// not answer.
func merge(of int, found []map[string]sighting) []holding {
	pictures, answered := map[string]*picture{}, 0
	for _, held := range found {
		if held != nil {
			answered++
		}
		for name, s := range held {
			if _, ok := pictures[name]; !ok {
				pictures[name] = newPicture()
			}
			pictures[name].add(s)
		}
	}
	var list []holding
	for _, name := range slices.Sorted(maps.Keys(pictures)) {
		list = append(list, pictures[name].holdings(name, of, answered)...)
	}
	return list
}

func (p *picture) add(s sighting) {
	if s.lock != "" {
		p.locks[s.lock] = append(p.locks[s.lock], s.left)
	} else {
		p.free++
	}
	for _, c := range s.claims {
		if c.lock != "" {
			p.locks[c.lock] = append(p.locks[c.lock], c.left)
		}
		if of := p.claims[c.Owner]; of.Owner != "" { // one node is enough to know that it ended
			c.done, c.void = c.done || of.done, c.void || of.void
		}
		p.claims[c.Owner] = c
	}
}

// holdings lists the owners with a lock on some node, those on most nodes first, and
// the owner of the latest claim if that is open.
func (p *picture) holdings(name string, of, answered int) []holding {
	var latest claimed
	for _, c := range p.claims {
		if c.Token > latest.Token {
			latest = c
		}
	}
	owners := slices.Collect(maps.Keys(p.locks))
	if _, locked := p.locks[latest.Owner]; !locked && latest.Owner != "" && !latest.done && !latest.void {
		owners = append(owners, latest.Owner)
	}
	var list []holding
	for _, owner := range owners {
		c, lefts := p.claims[owner], p.locks[owner]
		h := holding{owner: owner, silent: of - answered, Holding: c.holding(name)}
		h.Left, h.On = agreedLeft(lefts, of/2+1), locking.Votes{For: len(lefts), Of: of}
		if h.Known() {
			h.free = p.free
		}
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b holding) int {
		return cmp.Or(cmp.Compare(b.On.For, a.On.For), cmp.Compare(b.Token, a.Token), cmp.Compare(a.owner, b.owner))
	})
	return list
}

// holding returns the claim without its locks.
func (c claimed) holding(name string) locking.Holding {
	h := locking.Holding{
		Stream: c.Stream, Beside: c.Overlaps, Name: name, Holder: c.Holder, Token: locking.Token(c.Token), Attempt: c.Attempt, Mode: c.Mode,
		Done: c.done, Void: c.void,
	}
	if c.Tick != 0 {
		h.Tick = time.UnixMilli(c.Tick).UTC()
	}
	if h.Known() {
		h.Since = time.UnixMilli(int64(c.Token * 1000 >> 20)).UTC()
	}
	return h
}

// agreedLeft is how long q nodes will still hold the lock.
func agreedLeft(lefts []time.Duration, q int) time.Duration {
	if len(lefts) < q {
		return 0
	}
	slices.SortFunc(lefts, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return lefts[q-1]
}
