package redlock

import (
	"context"
	"errors"
	"slices"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A watch is what one replica has seen of a tick, node by node.
type watch struct {
	set    *nodes.Set
	nodes  []*nodes.Node
	req    locking.Request
	keys   []string
	common []any
	// order begins with the nodes that a claim in one round asks, as long as those
	// have a say; next is a place among these, of the node to be asked.
	order []int
	next  int
	// seen is the last word of each node.
	seen []vote
	// wrong: no node could grant the request, so none is asked about it.
	wrong bool
}

// Watch implements locking.Watcher.
func (l *Locker) Watch(req locking.Request, start uint64) locking.Watch {
	w := &watch{
		set: l.set, nodes: l.set.Nodes(), req: req,
		order: order(l.set.Nodes(), req.Name), seen: make([]vote, l.set.Len()), wrong: l.check(req) != nil,
	}
	w.next = w.place(start)
	w.keys, w.common = about(l.set, req, "")
	w.common = append(w.common, modeArg(req.Mode))
	return w
}

// place is where to begin among the nodes to be asked. Whatever the name, it is one
// of two nodes as a rule: what watchers with the same start ask at the same time
// shares few requests.
func (w *watch) place(start uint64) int {
	n, q := w.set.Len(), w.set.Quorum()
	first := int(start % uint64(n))
	for _, node := range []int{first, (first + q - 1) % n} {
		if i := slices.Index(w.order[:q], node); i >= 0 {
			return i
		}
	}
	return 0
}

// Look implements locking.Watch: rule N9 at one node, and what C5 allows to
// conclude from it and from what others have said before. It takes a node timeout
// at most.
func (w *watch) Look(ctx context.Context) error {
	if asks := !w.wrong && ctx.Err() == nil; !asks {
		return nil
	}
	switch v := w.ask(ctx); {
	case v.code == codeDone:
		return w.tells(locking.ErrDone, v)
	case v.code == codeClaimed && agreed(w.seen, codeClaimed, w.set.Quorum()):
		return w.tells(locking.ErrClaimed, v)
	case v.code == codeClaimed, v.code == codeBusy:
		return w.tells(locking.ErrTaken, v)
	case v.silent():
		return w.tells(locking.ErrSilent, v)
	}
	return nil
}

// ask returns what the next node says that has a say.
func (w *watch) ask(ctx context.Context) (v vote) {
	for i := range w.nodes {
		if i > w.set.Len()-w.set.Quorum() {
			w.next++ // all that could stand in here have been asked
		}
		w.next %= w.set.Quorum()
		node := w.order[w.next]
		v = parse(w.nodes[node].Call(ctx, lookScript, w.keys, w.common...))
		w.seen[node] = v
		if !v.mute() {
			w.next++
			break
		}
		w.replace(node)
	}
	return v
}

// replace lets another node take the place of the one to be asked next.
func (w *watch) replace(node int) {
	if others := w.order[w.set.Quorum():]; len(others) > 0 {
		w.order[w.next] = others[0]
		copy(others, others[1:])
		others[len(others)-1] = node
	}
}

// mute tells whether the node has no say, which it told at once: it is down,
// refuses this client, is blank, or abstains. One that is silent has had the
// time there is.
func (v vote) mute() bool {
	var refused *nodes.RefusedError
	return errors.Is(v.err, nodes.ErrDown) || errors.Is(v.err, nodes.ErrBlank) || errors.As(v.err, &refused) ||
		v.code == codeAbstain || v.code == codeFuture
}

// silent tells whether the node did not answer in time, or was not asked in time as
// it had not answered others.
func (v vote) silent() bool { return v.open() || v.unsent && !errors.Is(v.err, nodes.ErrDown) }

// tells returns what is known, with whom the node named.
func (w *watch) tells(reason error, v vote) error {
	e := &locking.AcquireError{Reason: reason, Name: w.req.Name, Votes: locking.Votes{Of: len(w.nodes)}}
	nameHolder(e, []vote{v})
	e.Nodes = []locking.NodeError{{Node: v.node, Err: v.objection()}}
	return e
}
