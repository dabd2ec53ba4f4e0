package redlock

import (
	"context"
	"errors"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// look sends LOOK to all nodes, and reports whether a quorum is free (C2). Waiting
// callers claim only then, so they do not disturb the holder.
func (l *Locker) look(ctx context.Context, req locking.Request) ([]vote, bool) {
	t := newTry(l, req, "")
	return t.round(ctx, claiming, t.query(scripts.Look, nil, modeArg(req.Mode))).start().result()
}

// A watch holds what one replica has seen of a tick, node by node.
type watch struct {
	t    *try // for its arguments; it claims nothing
	args []any
	next int // the node to ask next
	// seen is the last answer of each node.
	seen []vote
	// invalid: no node could grant the request, so none is asked.
	invalid bool
}

// Watch implements locking.Watcher.
func (l *Locker) Watch(req locking.Request, start uint64) locking.Watch {
	t, nodes := newTry(l, req, ""), l.set.Len()
	return &watch{
		t: t, args: append(t.common, modeArg(req.Mode)),
		next: int(start % uint64(nodes)), seen: make([]vote, nodes), invalid: l.check(req) != nil,
	}
}

// Look implements locking.Watch: rule N10 at one node, and the conclusions that C5
// allows from this and earlier answers. It takes at most a node timeout.
func (w *watch) Look(ctx context.Context) error {
	if asks := !w.invalid && ctx.Err() == nil; !asks {
		return nil
	}
	switch v := w.ask(ctx); {
	case v.code == codeDone:
		return w.refusal(locking.ErrDone, v)
	case v.code == codeClaimed && agreed(w.seen, codeClaimed, w.t.l.set.Quorum()):
		return w.refusal(locking.ErrClaimed, v)
	case v.code == codeClaimed, v.code == codeBusy:
		return w.refusal(locking.ErrTaken, v)
	case v.silent():
		return w.refusal(locking.ErrSilent, v)
	}
	return nil
}

// ask returns the answer of the next node that votes.
func (w *watch) ask(ctx context.Context) (v vote) {
	for range w.t.nodes {
		node := w.next
		w.next = (node + 1) % len(w.t.nodes)
		v = parse(w.t.nodes[node].Call(ctx, scripts.Look, w.t.keys.Names(), w.args...))
		w.seen[node] = v
		if !v.cannotVote() {
			break
		}
	}
	return v
}

// cannotVote reports whether the node has no vote. A node that is down, blank, abstains, or
// refuses this client said so at once. A silent node used up its time.
func (v vote) cannotVote() bool {
	var refused *membership.RefusedError
	return errors.Is(v.err, client.ErrDown) || errors.Is(v.err, membership.ErrBlank) || errors.As(v.err, &refused) ||
		v.code == codeAbstain || v.code == codeFuture
}

// silent reports whether the node did not answer in time, or was not asked because
// earlier requests are unanswered.
func (v vote) silent() bool { return v.uncertain() || v.unsent && !errors.Is(v.err, client.ErrDown) }

func (w *watch) refusal(reason error, v vote) error {
	e := &locking.AcquireError{Reason: reason, Name: w.t.req.Name}
	if !w.t.l.set.OneStore() {
		e.Votes = locking.Votes{Of: len(w.t.nodes)}
	}
	nameHolder(e, []vote{v})
	e.Nodes = []locking.NodeError{{Node: v.node, Err: v.objection()}}
	return e
}
