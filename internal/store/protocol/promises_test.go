package protocol_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorate/quorate/internal/store/protocol"
)

// TestPromisesHold plays tries, losses of memory and FORGET at three nodes, with
// messages that arrive late, again or never, and checks the promises: tokens
// are unique and grow in the order of time, a tick runs once, a finished tick does not
// run again, leases do not overlap.
func TestPromisesHold(t *testing.T) {
	wins := 0
	for seed := range uint64(3000) {
		p := newPlay(t, seed)
		for range 400 {
			p.step()
		}
		wins += p.wins
	}
	if wins < 5000 {
		t.Fatalf("only %d claims were won", wins)
	}
}

const quorum = 2

// A contender is a try of a replica.
type contender struct {
	protocol.Try
	bid            protocol.Bid
	direct         bool
	running, ended bool
	finishing      bool
	locked, votes  [3]bool
	acks, renewed  [3]bool
	issuedBefore   uint64
	finishedBefore bool
	deadline       int64
	round          int64 // when the open round of EXTEND began; 0: none is open
}

func (c *contender) valid(now int64) bool { return !c.finishing && now < c.deadline }

func count(votes [3]bool) int {
	n := 0
	for _, v := range votes {
		if v {
			n++
		}
	}
	return n
}

type play struct {
	t      *testing.T
	rng    *rand.Rand
	seed   uint64
	now    int64
	states [3]protocol.State
	nodes  [3]protocol.Node
	all    []*contender
	wins   int
}

func newPlay(t *testing.T, seed uint64) *play {
	t.Helper()
	p := &play{t: t, rng: rand.New(rand.NewPCG(seed, 1)), seed: seed, now: start}
	for i := range p.nodes {
		p.nodes[i] = protocol.Node{Floor: grace, Grace: grace}
	}
	return p
}

func (p *play) step() {
	for i := range p.nodes {
		p.nodes[i].Now = p.now
	}
	switch i := p.rng.IntN(3); p.rng.IntN(40) {
	case 0, 1:
		p.begin()
	case 2:
		p.now += p.rng.Int64N(ttl)
	case 3:
		p.now += p.rng.Int64N(second)
	case 4:
		if p.rng.IntN(10) == 0 { // it loses its memory
			p.states[i], p.nodes[i].GCFence, p.nodes[i].GCTick = protocol.State{}, 0, 0
			p.nodes[i].Floor = p.now + grace
			if p.rng.IntN(2) == 0 {
				p.now += 2 * grace
			}
		}
	case 5:
		if p.rng.IntN(10) == 0 {
			p.states[i], p.nodes[i], _ = protocol.Forget(p.states[i], p.nodes[i])
		}
	default:
		if len(p.all) > 0 {
			// Mostly a late one.
			at := max(0, len(p.all)-1-p.rng.IntN(4))
			if p.rng.IntN(20) == 0 {
				at = p.rng.IntN(len(p.all))
			}
			p.deliver(p.all[at], i)
		}
	}
}

func (p *play) begin() {
	c := &contender{
		Try: protocol.Try{
			Owner: fmt.Sprint("v", len(p.all)), Stream: "s", TTL: ttl,
			Tick:     p.now - p.now%(20*second) - 20*second*p.rng.Int64N(2),
			Overlaps: p.seed%3 == 2,
		},
		bid:      protocol.Bid{Token: token(p.now) + p.rng.Uint64N(4) - 2, Attempt: 1 + p.rng.IntN(3), Keep: 3},
		direct:   p.rng.IntN(2) == 0,
		deadline: p.now + ttl,
	}
	if p.seed%3 == 1 {
		c.Mode = protocol.AtLeastOnce
	}
	if p.rng.IntN(6) == 0 {
		c.Plain, c.Stream, c.Tick, c.Overlaps = true, "p", 0, false
	}
	for _, o := range p.all {
		if o.running {
			c.issuedBefore = max(c.issuedBefore, o.bid.Token)
			c.finishedBefore = c.finishedBefore || count(o.acks) >= quorum && p.sameRun(c, o)
		}
	}
	p.all = append(p.all, c)
}

func (p *play) sameRun(a, b *contender) bool {
	return !a.Plain && !b.Plain && a.Tick == b.Tick
}

// deliver lets a message of a contender arrive at a node, and a decision be made.
func (p *play) deliver(c *contender, i int) {
	s, n := &p.states[i], p.nodes[i]
	var a protocol.Answer
	switch {
	case c.ended:
		*s, _ = protocol.Void(*s, n, c.Try, true)
	case c.finishing:
		if *s, a = protocol.Finish(*s, n, c.Try, protocol.End{Keep: 3, Straggler: true}); a.Code != protocol.Late {
			c.acks[i] = true
		}
	case c.running:
		p.extend(c, i)
	default:
		p.claim(c, i)
	}
}

func (p *play) claim(c *contender, i int) {
	s, n := &p.states[i], p.nodes[i]
	var a protocol.Answer
	if !c.direct && count(c.locked) < quorum {
		*s, a = protocol.Lock(*s, n, c.Try)
		c.locked[i] = c.locked[i] || a.Code == protocol.OK
		return
	}
	*s, a = protocol.Commit(*s, n, c.Try, c.bid)
	c.votes[i] = c.votes[i] || a.Code == protocol.OK
	switch {
	case count(c.votes) >= quorum && c.valid(p.now) && p.rng.IntN(4) > 0:
		p.issue(c)
	case p.rng.IntN(8) == 0 || !c.valid(p.now):
		c.ended = true
	}
}

func (p *play) extend(c *contender, i int) {
	s, n := &p.states[i], p.nodes[i]
	var a protocol.Answer
	if !c.valid(p.now) || p.rng.IntN(10) == 0 {
		c.finishing = true
		return
	}
	if c.round == 0 {
		c.round, c.renewed = p.now, [3]bool{}
	}
	join := c.bid
	join.Join = true
	*s, _ = protocol.Commit(*s, n, c.Try, join)
	*s, a = protocol.Extend(*s, n, c.Try)
	c.renewed[i] = a.Code == protocol.OK
	if count(c.renewed) >= quorum {
		c.deadline, c.round = c.round+ttl, 0
	}
}

// issue checks the promises for a claim that is about to run.
func (p *play) issue(c *contender) {
	p.wins++
	fail := func(what string, o *contender) {
		p.t.Helper()
		p.t.Fatalf("seed %d: %s: %+v\nand %+v", p.seed, what, c, o)
	}
	for _, o := range slices.Backward(p.all) {
		switch {
		case o == c || !o.running:
		case o.bid.Token == c.bid.Token:
			fail("two claims with one token", o)
		case !c.Plain && !o.Plain && (o.Tick < c.Tick) != (o.bid.Token < c.bid.Token) && o.Tick != c.Tick:
			fail("ticks and tokens differ in order", o)
		case p.sameRun(c, o) && c.Mode == protocol.AtMostOnce:
			fail("a tick runs twice", o)
		case p.sameRun(c, o) && c.bid.Attempt == o.bid.Attempt:
			fail("two runs with one number", o)
		case o.valid(p.now) && (!c.Overlaps || !o.Overlaps || p.sameRun(c, o)):
			fail("leases overlap", o)
		}
	}
	if c.issuedBefore > c.bid.Token || c.finishedBefore {
		fail("tokens fall, or a finished tick runs", nil)
	}
	c.running = true
}
