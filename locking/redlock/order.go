package redlock

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A claim in one round asks a quorum of the nodes, and the others only where
// that does not do: Paxos calls it thrifty. What is decided about a name is
// decided at the same nodes by everybody, so those who look find it there, and
// competitors meet at nodes of which only one of them can have most.

// order returns the nodes by their places in the configuration: those first that
// are asked first about a name. Names begin at different nodes; nodes that would
// not vote stand last.
func order(list []*nodes.Node, name string) []int {
	now, first := time.Now(), int(hash(name)%uint64(len(list)))
	var unable []int
	places := make([]int, 0, len(list))
	for i := range list {
		node := (first + i) % len(list)
		if list[node].Votes(now) {
			places = append(places, node)
		} else {
			unable = append(unable, node)
		}
	}
	return append(places, unable...)
}

// hash is FNV-1a, written out because hash/fnv allocates.
func hash(name string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	return h
}

// leaveOut decides which nodes a claim in one round does without.
func (a *attempt) leaveOut() {
	a.order = order(a.nodes, a.req.Name)
	a.spared = make([]bool, len(a.nodes))
	for _, node := range a.order[a.set.Quorum():] {
		a.spared[node] = true
	}
}

// spares tells whether the node was left out, and still is.
func (a *attempt) spares(node int) bool { return a.spared != nil && a.spared[node] }

// askAll asks the nodes that were left out for the claim, where it is short of a
// quorum and may get one.
func (a *attempt) askAll(ctx context.Context) {
	if short := count(a.votes, codeOK) < a.set.Quorum(); !short || a.spared == nil || !a.leads() {
		return
	}
	spared := a.spared
	a.spared = nil
	a.commitWhere(ctx, func(node int) bool { return spared[node] })
}

// leads tells whether more of the nodes that were asked have accepted than are
// somebody else's, or as many and the first of all these has. Of two that meet one
// leads, and the other one need not ask further.
func (a *attempt) leads() bool {
	got, met, first := 0, 0, false
	for _, node := range a.order {
		switch v := a.votes[node]; {
		case v.ok():
			got++
			first = first || met == 0
		case v.inTheWay():
			met++
		}
	}
	return got > met || got == met && first
}

// joinAt asks a node that was left out for the claim, which a quorum has accepted.
func (a *attempt) joinAt(ctx context.Context, node int) vote {
	v := a.kept(node, a.call(ctx, node, commitScript, a.commitArgs()...))
	if v.ok() {
		a.spared[node] = false
	}
	return v
}

// joinAll is joinAt of all nodes that were left out: some of the others do not
// answer any more. From then on none is left out, whether it has accepted or not.
func (a *attempt) joinAll(ctx context.Context) {
	a.each(a.spares, func(node int) { a.joinAt(ctx, node) })
	a.spared = nil
}
