package acts

import (
	"context"
	"fmt"
	"slices"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
)

// Open implements [acts.Store]. It sends nodes what they lack.
func (a *Acts) Open(ctx context.Context) (acts.Open, error) {
	const doing = "reading the acts"
	if err := ctx.Err(); err != nil {
		return acts.Open{}, err
	}
	views, err := a.readViews(ctx, doing)
	if err != nil {
		return acts.Open{}, err
	}
	p := merge(a.set.Quorum(), views)
	if lacking := p.lacking(); slices.ContainsFunc(lacking, func(m map[string]value) bool { return len(m) > 0 }) {
		p = merge(a.set.Quorum(), a.sendMissing(ctx, views, lacking))
	}
	if n := p.vouching(); n < a.set.Quorum() {
		return acts.Open{}, fmt.Errorf("%s: %w", doing, &graceError{n, a.set.Len(), a.set.OneStore()})
	}
	return p.open(a.Unreadable), nil
}

// A graceError says how many of the nodes have a complete memory.
type graceError struct {
	complete, nodes int
	oneStore        bool
}

func (e *graceError) Error() string {
	if e.oneStore {
		return "the store has no complete memory: it is new, or restarted less than a grace ago"
	}
	return fmt.Sprintf("%d of %d nodes have a complete memory; the others are new, or restarted less than a grace ago", e.complete, e.nodes)
}

// Is reports whether target is what a caller can do about it: wait, as without a quorum.
func (e *graceError) Is(target error) bool {
	return target == acts.ErrGrace || target == locking.ErrNoQuorum
}
