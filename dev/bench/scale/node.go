package main

import "time"

// A node serves one command after the other.
type node struct {
	world     *world
	busyUntil time.Duration
	worked    time.Duration
}

// A call is one request of a replica about one tick.
type call struct {
	kind    kind
	tick    *tick
	replica *replica
	answer  func(answer)
}

// An answer is what a node says to a call.
type answer struct {
	ok    bool // accepted; of a look: nothing is in the way
	done  bool // the tick was run
	owner int  // who claimed the tick, or has its lock; -1: nobody
}

// serve takes a command that has just arrived, and hands back its answers when it
// has been worked on and they have come through the network.
func (n *node) serve(index int, calls []call, back func()) {
	w := n.world
	work := w.p.Cost.Command
	answers := make([]answer, len(calls))
	for i, c := range calls {
		work += w.p.Cost.of(c.kind)
		answers[i] = c.tick.rule(index, c)
	}
	n.busyUntil = max(n.busyUntil, w.now) + work
	n.worked += work
	w.after(n.busyUntil-w.now+w.oneWay(), func() {
		for i, c := range calls {
			c.answer(answers[i])
		}
		back()
	})
}

// A place is what one node knows of one tick.
type place struct {
	lock, owner int // -1: nobody
	done        bool
}

// rule is what the node with an index says of the tick.
func (t *tick) rule(index int, c call) answer {
	p, me := &t.places[index], c.replica.index
	a := answer{done: p.done, owner: p.owner}
	switch free := p.owner == -1 && (p.lock == -1 || p.lock == me); c.kind {
	case look:
		a.ok = p.owner == -1 && p.lock == -1
	case lock:
		if a.ok = free; a.ok {
			p.lock = me
		}
	case commit:
		if a.ok = free; a.ok {
			p.lock, p.owner = me, me
		}
	case finish:
		if a.ok = p.owner == me; a.ok {
			p.lock, p.done = -1, true
		}
	case void:
		a.ok = true
		if p.lock == me {
			p.lock = -1
		}
		if p.owner == me {
			p.owner = -1
		}
	}
	return a
}
