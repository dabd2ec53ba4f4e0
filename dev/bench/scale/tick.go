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
	order  []int // replicas by rank
	places []place
	runs   int
}

func newTick(w *world) *tick {
	t := &tick{world: w, order: w.rand.Perm(len(w.replicas)), places: make([]place, w.p.Nodes)}
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
	a := &attempt{tick: t, replica: r, rank: rank, next: r.index, owner: -1}
	if rank == 0 {
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

	next  int // the node to look at
	owner int // whom so many nodes have named
	seen  int
}

// look asks one node what became of the tick.
func (a *attempt) look() {
	node := a.next % a.tick.world.p.Nodes
	a.next++
	a.replica.send(node, call{kind: look, tick: a.tick, replica: a.replica, answer: func(said answer) {
		switch {
		case said.done:
		case said.ok && a.tick.world.now < a.tick.world.p.turn(a.rank):
			a.tick.world.after(a.tick.world.p.turn(a.rank)-a.tick.world.now, a.look)
		case said.ok:
			a.replica.enter(a.rank, func() { a.ask(lock) })
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

// ask sends one round to all nodes. It awaits the slowest of them, a little
// longer than the real one, which is over with a quorum.
func (a *attempt) ask(round kind) {
	votes, answered, nodes := 0, 0, a.tick.world.p.Nodes
	for node := range nodes {
		a.replica.send(node, call{kind: round, tick: a.tick, replica: a.replica, answer: func(said answer) {
			if said.ok {
				votes++
			}
			if answered++; answered == nodes {
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
	case round == lock:
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
	for node := range a.tick.world.p.Nodes {
		a.replica.send(node, call{kind: k, tick: a.tick, replica: a.replica, answer: func(answer) {}})
	}
}
