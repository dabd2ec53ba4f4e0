package redisacts

import (
	"context"
	"fmt"
	"slices"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// Open implements [scheduler.Acts]. Nodes that lack something are told.
func (a *Acts) Open(ctx context.Context) (scheduler.OpenActs, error) {
	const doing = "reading the acts"
	if err := ctx.Err(); err != nil {
		return scheduler.OpenActs{}, err
	}
	views, err := a.look(ctx, doing)
	if err != nil {
		return scheduler.OpenActs{}, err
	}
	p := merge(a.set.Quorum(), views)
	if lacking := p.lacking(); slices.ContainsFunc(lacking, func(m map[string]value) bool { return len(m) > 0 }) {
		p = merge(a.set.Quorum(), a.tellBehind(ctx, views, lacking))
	}
	if n := p.vouching(); n < a.set.Quorum() {
		return scheduler.OpenActs{}, fmt.Errorf("%s: %w: %d of %d nodes vouch for what they remember; the others came back less than a grace ago",
			doing, locking.ErrNoQuorum, n, a.set.Len())
	}
	acts, err := p.open()
	if err != nil {
		return scheduler.OpenActs{}, fmt.Errorf("%s: %w", doing, err)
	}
	return acts, nil
}
