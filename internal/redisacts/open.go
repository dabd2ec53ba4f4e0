package redisacts

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
		return acts.Open{}, fmt.Errorf("%s: %w: %d of %d nodes have a complete memory; the others restarted less than a grace ago",
			doing, locking.ErrNoQuorum, n, a.set.Len())
	}
	return p.open(a.Unreadable), nil
}
