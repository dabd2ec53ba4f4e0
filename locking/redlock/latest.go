package redlock

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// Latest lists the latest claims of all streams that the nodes know together, sorted by name
// and stream. Done means that no replica may run the tick again. When fewer than a quorum
// answer, the error matches locking.ErrNoQuorum.
func (l *Locker) Latest(ctx context.Context) ([]locking.Holding, error) {
	found, err := sightingsOf(ctx, l.set, "listing the claims", func(n *membership.Node) ([]string, error) { return names(ctx, l.set, n) })
	if err != nil {
		return nil, err
	}
	latest := map[[2]string]locking.Holding{}
	for _, node := range found {
		for name, s := range node {
			for _, c := range s.claims {
				h, of := c.holding(name), [2]string{name, c.Stream}
				h.Done = c.done && !c.rerun
				if have, ok := latest[of]; !ok || compareClaims(h, have) > 0 {
					latest[of] = h
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(latest), func(a, b locking.Holding) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Stream, b.Stream))
	}), nil
}

// compareClaims compares claims of a stream by tick. Of one tick those come last that keep more
// replicas from running it, and then those with larger tokens.
func compareClaims(a, b locking.Holding) int {
	return cmp.Or(a.Tick.Compare(b.Tick), cmp.Compare(excludes(a), excludes(b)), cmp.Compare(a.Token, b.Token))
}

func excludes(h locking.Holding) int {
	switch {
	case h.Done:
		return 3
	case h.Mode == locking.AtMostOnce && !h.Void:
		return 2
	case !h.Void:
		return 1
	}
	return 0
}
