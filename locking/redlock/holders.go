package redlock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

// A holding is a [locking.Holding] with what only this package needs.
type holding struct {
	locking.Holding
	owner  string // the try's value
	free   int    // nodes without a lock, where an extension may set it again
	silent int    // nodes that did not answer
}

// mayHold reports whether a quorum may hold the lock, or hold it again after an
// extension. Nodes that did not answer may be part of it.
func (h holding) mayHold() bool {
	able := h.On.For + h.silent
	if !h.Done && !h.Void {
		able += h.free
	}
	return h.On.For+h.silent > 0 && able >= h.On.Of/2+1
}

// Limits per request, so other clients of the node do not wait for long.
const (
	scanKeys  = 1000
	readNames = 100
)

// Holders lists the locks on the nodes of set, even on a minority, and the claims that
// were neither finished nor given back. It covers jobs and plain locks, sorted by name.
// It only reads, and ignores keys of other kinds. When fewer than a quorum answer, the
// error matches locking.ErrNoQuorum and quotes the other nodes.
func Holders(ctx context.Context, set *membership.Set) ([]locking.Holding, error) {
	held, err := survey(ctx, set, "listing the locks", func(n *membership.Node) ([]string, error) { return names(ctx, set, n) })
	var list []locking.Holding
	for _, h := range held {
		list = append(list, h.Holding)
	}
	return list, err
}

// holdersOf lists the holdings of one name, the one on most nodes first.
func holdersOf(ctx context.Context, set *membership.Set, name string) ([]holding, error) {
	return survey(ctx, set, "asking who holds "+name, func(*membership.Node) ([]string, error) { return []string{name}, nil })
}

// survey asks each node for its holdings of the names that names returns for it. Doing
// describes the operation for errors.
func survey(ctx context.Context, set *membership.Set, doing string, names func(*membership.Node) ([]string, error)) ([]holding, error) {
	found, err := sightingsOf(ctx, set, doing, names)
	if err != nil {
		return nil, err
	}
	return merge(set.Len(), found), nil
}

// sightingsOf returns what each node stores of the names that names returns for it.
func sightingsOf(ctx context.Context, set *membership.Set, doing string, names func(*membership.Node) ([]string, error)) ([]map[string]sighting, error) {
	all := set.Nodes()
	found := make([]map[string]sighting, len(all))
	replies := make([]membership.Reply, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() {
			list, err := names(n)
			if err == nil {
				found[i], err = sightings(ctx, set, n, list)
			}
			replies[i] = membership.Reply{Node: n.Name(), Err: err}
		})
	}
	wg.Wait()
	_, err := set.Answers(doing, replies)
	return found, err
}

// sightings asks a node for its holdings of the names.
func sightings(ctx context.Context, set *membership.Set, n *membership.Node, names []string) (map[string]sighting, error) {
	held := map[string]sighting{}
	for some := range slices.Chunk(names, readNames) {
		reply := n.Call(ctx, scripts.Holding, scripts.HoldingKeys(set, some...))
		if reply.Err != nil {
			return nil, reply.Err
		}
		if err := readSightings(held, some, reply.Args); err != nil {
			return nil, fmt.Errorf("reading who holds what: %w", err)
		}
	}
	return held, nil
}

// names returns the names for which the node stores a lock or a claim.
func names(ctx context.Context, set *membership.Set, n *membership.Node) ([]string, error) {
	seen := map[string]bool{}
	for cursor := "0"; ; {
		r := n.Call(ctx, scripts.Names, nil, cursor, set.Key("job", ""), scanKeys)
		if r.Err != nil {
			return nil, r.Err
		}
		for _, name := range r.Args[min(1, len(r.Args)):] {
			seen[name] = true
		}
		if cursor = r.Arg(0); cursor == "0" || cursor == "" {
			return slices.Collect(maps.Keys(seen)), nil
		}
	}
}
