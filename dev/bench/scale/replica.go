package main

import "container/heap"

// A replica takes its turns at ticks, so many claims at a time, and sends its
// calls in batches.
type replica struct {
	world   *world
	index   int
	dead    bool
	claims  int // under way
	waiting line
	wires   map[*node]*[kinds]wire
}

func newReplica(w *world, index int, dead bool) *replica {
	return &replica{world: w, index: index, dead: dead, wires: map[*node]*[kinds]wire{}}
}

// A waiter wants to claim.
type waiter struct {
	rank, seq int
	begin     func()
}

// A line of waiters is ordered by rank, then by time.
type line []waiter

func (l line) Len() int { return len(l) }
func (l line) Less(i, j int) bool {
	return l[i].rank < l[j].rank || l[i].rank == l[j].rank && l[i].seq < l[j].seq
}
func (l line) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *line) Push(x any)   { *l = append(*l, x.(waiter)) }
func (l *line) Pop() any {
	last := len(*l) - 1
	x := (*l)[last]
	(*l)[last] = waiter{}
	*l = (*l)[:last]
	return x
}

// enter begins a claim, or puts it into the line.
func (r *replica) enter(rank int, begin func()) {
	if r.claims < r.world.p.MaxClaims {
		r.claims++
		begin()
		return
	}
	r.world.seq++
	heap.Push(&r.waiting, waiter{rank: rank, seq: r.world.seq, begin: begin})
}

// leave ends a claim and lets the next one begin.
func (r *replica) leave() {
	if len(r.waiting) == 0 {
		r.claims--
		return
	}
	heap.Pop(&r.waiting).(waiter).begin()
}

// A wire carries the calls of one kind from a replica to a node: one command at
// a time, and what comes meanwhile in the next.
type wire struct {
	busy  bool
	queue []call
}

// send has a call carried to a node.
func (r *replica) send(node int, c call) {
	w, n := r.world, r.world.nodes[node]
	w.calls[c.kind]++
	if r.wires[n] == nil {
		r.wires[n] = new([kinds]wire)
	}
	line := &r.wires[n][c.kind]
	line.queue = append(line.queue, c)
	if !line.busy {
		r.flush(node, n, line)
	}
}

func (r *replica) flush(node int, n *node, line *wire) {
	if line.busy = len(line.queue) > 0; !line.busy {
		return
	}
	w := r.world
	size := min(len(line.queue), w.p.MaxBatch)
	batch := line.queue[:size:size]
	line.queue = line.queue[size:]
	w.commands++
	w.after(w.oneWay(), func() {
		n.serve(node, batch, func() { r.flush(node, n, line) })
	})
}
