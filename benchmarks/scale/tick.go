package main

import "time"

// The pause before another look.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 4 * time.Second
)

// A tick is one job's, at the instant that is simulated.
type tick struct {
	world  *world
	cell   int
	order  []int // replicas by rank
	first  int   // of the nodes that are asked
	places []place
	runs   int
}

func newTick(w *world, cell int) *tick {
	t := &tick{world: w, cell: cell, order: w.rand.Perm(len(w.replicas)), places: make([]place, w.p.Nodes)}
	t.first = w.rand.IntN(w.p.Nodes)
	for i := range t.places {
		t.places[i] = place{lock: -1, owner: -1}
	}
	return t
}

// begin has the replicas take their turns.
func (t *tick) begin() {
	w, last := t.world, min(t.world.p.Together, len(t.order)-1)
	for rank := range last {
		w.after(w.p.looksAt(rank), func() { t.enter(rank) })
	}
	w.after(w.p.looksAt(last), func() {
		for rank := last; rank < len(t.order); rank++ {
			t.enter(rank)
		}
	})
}

// enter begins the attempt of the replica with a rank.
func (t *tick) enter(rank int) {
	r := t.world.replicas[t.order[rank]]
	if r.dead {
		return
	}
	a := &attempt{tick: t, replica: r, rank: rank, next: t.place(r.index), nodes: t.world.p.Nodes, owner: -1}
	if rank == 0 {
		a.nodes = t.world.p.quorum()
		r.enter(rank, func() { a.ask(commit) })
		return
	}
	a.look()
}

// An attempt is that of one replica at one tick.
type attempt struct {
	tick    *tick
	replica *replica
	rank    int
	tries   int

	nodes int // so many are asked
	next  int // the node to look at, of a quorum
	owner int // whom so many nodes have named
	seen  int
}

// look asks one node what became of the tick.
func (a *attempt) look() {
	node := a.tick.node(a.next % a.tick.world.p.quorum())
	a.next++
	a.replica.send(node, call{kind: look, tick: a.tick, replica: a.replica, answer: func(said answer) {
		switch {
		case said.done:
		case said.ok && a.tick.world.now < a.tick.world.p.turn(a.rank):
			a.tick.world.after(a.tick.world.p.turn(a.rank)-a.tick.world.now, a.look)
		case said.ok:
			a.replica.enter(a.rank, func() { a.ask(acquire) })
		default:
			a.saw(said.owner)
		}
	}})
}

// saw counts who named the claim, until a quorum has.
func (a *attempt) saw(owner int) {
	if owner != a.owner {
		a.owner, a.seen = owner, 0
	}
	if a.seen++; owner >= 0 && a.seen >= a.tick.world.p.quorum() {
		return
	}
	a.again()
}

// again looks again after a while. All that a replica is told of at one instant
// it looks at again at one instant: looks need not keep out of each other's way.
func (a *attempt) again() {
	pause := min(firstLook<<a.tries, lastLook)
	a.tries++
	a.tick.world.after(pause, a.look)
}

// place is where a replica begins to look: at a node that does not depend on the
// tick, or at another such, if that is not of the quorum.
func (t *tick) place(replica int) int {
	n, q := t.world.p.Nodes, t.world.p.quorum()
	if place := (replica%n + n - t.first) % n; place < q {
		return place
	}
	return (replica + q - 1 + n - t.first) % n
}

// node is the one at a place in the order that starts at the tick's first.
func (t *tick) node(place int) int { return (t.first + place) % t.world.p.Nodes }

// ask sends one round: to a quorum by whoever claims in one, else to all nodes of
// the cell.
func (a *attempt) ask(round kind) {
	votes, answered := 0, 0
	for place := range a.nodes {
		a.replica.send(a.tick.node(place), call{kind: round, tick: a.tick, replica: a.replica, answer: func(said answer) {
			if said.ok {
				votes++
			}
			if answered++; answered == a.nodes {
				a.counted(round, votes >= a.tick.world.p.quorum())
			}
		}})
	}
}

func (a *attempt) counted(round kind, won bool) {
	switch {
	case !won:
		a.replica.leave()
		a.tell(void)
		a.again()
	case round == acquire:
		a.ask(commit)
	default:
		a.replica.leave()
		a.tick.run(a)
	}
}

// run is that of the job, on the replica that won.
func (t *tick) run(a *attempt) {
	w := t.world
	t.runs++
	w.last = max(w.last, w.now)
	w.after(w.p.Run, func() { a.tell(finish) })
}

// tell sends what nobody waits for.
func (a *attempt) tell(k kind) {
	for place := range a.nodes {
		a.replica.send(a.tick.node(place), call{kind: k, tick: a.tick, replica: a.replica, answer: func(answer) {}})
	}
}
