package membership

import (
	"context"
	"fmt"
)

// SealFor seals a node for the change to a list at an epoch, as the first half of
// a Change that is cut off.
func SealFor(ctx context.Context, n *Node, to Config, epoch int64) error {
	next, err := Open(to)
	if err != nil {
		return err
	}
	defer next.Close()
	return n.run(ctx, n.set.rules.seal, nil, fmt.Sprintf("%s:%d", next.hash, epoch), next.list).Err
}

// Epoch returns the epoch of the list.
func (s *Set) Epoch() int64 { return s.epoch.get() }

// Rule returns the script of membership of that name.
func Rule(name string) *Script {
	r := newRules()
	for _, s := range []*Script{r.peek, r.format, r.init, r.seal, r.open, r.try} {
		if s.Name() == name {
			return s
		}
	}
	return nil
}
