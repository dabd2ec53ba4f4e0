package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// How much of a node's memory is looked at in one go, so that nobody else waits
// for long.
const (
	scanKeys  = 1000
	readNames = 100
)

// Holders lists what the nodes of set hold of names that somebody works under,
// jobs and plain locks alike, sorted by name: every lock, on however few nodes,
// and every claim that was neither finished nor given back. It reads; keys that
// are not of this package's kind are not touched. It returns an error matching
// locking.ErrNoQuorum, with what each of the others said, when fewer than a
// quorum answer.
func Holders(ctx context.Context, set *nodes.Set) ([]Holding, error) {
	all := set.Nodes()
	found := make([]report, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() { found[i] = survey(ctx, set, n) })
	}
	wg.Wait()
	return merge(set, "listing the locks", found)
}

// holdersOf lists what the nodes hold of one name, as Holders does; the owner
// most nodes hold the lock for comes first.
func holdersOf(ctx context.Context, set *nodes.Set, name string) ([]Holding, error) {
	replies := set.Call(ctx, holdingScript, holdingKeys(set, name))
	found := make([]report, len(replies))
	for i, r := range replies {
		found[i] = report{node: r.Node, err: r.Err}
		if r.Err == nil {
			found[i].add([]string{name}, r)
		}
	}
	return merge(set, "asking who holds "+name, found)
}

// A report is what one node holds of some names.
type report struct {
	node string
	err  error
	held map[string]sighting
}

// survey asks a node for all it holds.
func survey(ctx context.Context, set *nodes.Set, n *nodes.Node) report {
	r := report{node: n.Name()}
	names, err := names(ctx, set, n)
	for len(names) > 0 && err == nil {
		some := names[:min(readNames, len(names))]
		names = names[len(some):]
		reply := n.Call(ctx, holdingScript, holdingKeys(set, some...))
		if err = reply.Err; err == nil {
			r.add(some, reply)
			err = r.err
		}
	}
	r.err = err
	return r
}

// names returns the names that the node keeps a lock, a share or a claim for.
func names(ctx context.Context, set *nodes.Set, n *nodes.Node) ([]string, error) {
	seen := map[string]bool{}
	var list []string
	for cursor := "0"; ; {
		r := n.Call(ctx, namesScript, nil, cursor, set.Key("job", ""), scanKeys)
		if r.Err != nil {
			return nil, r.Err
		}
		for _, name := range r.Args[min(1, len(r.Args)):] {
			if !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
		if cursor = r.Arg(0); cursor == "0" || cursor == "" {
			return list, nil
		}
	}
}

func holdingKeys(set *nodes.Set, names ...string) []string {
	var keys []string
	for _, name := range names {
		keys = append(keys, set.JobKey(name, "lock"), set.JobKey(name, "claim"), set.JobKey(name, "shares"))
	}
	return keys
}

// answered returns the reports of the nodes that answered, or
// locking.ErrNoQuorum with what each of the others said.
func answered(set *nodes.Set, doing string, all []report) ([]report, error) {
	var good []report
	var why []string
	var errs []error
	for _, r := range all {
		if r.err == nil {
			good = append(good, r)
			continue
		}
		err := locking.NodeError{Node: r.node, Err: r.err}
		errs, why = append(errs, err), append(why, err.Error())
	}
	if len(good) >= set.Quorum() {
		return good, nil
	}
	return nil, &quorumError{
		text: fmt.Sprintf("%s: %v: %d of %d nodes can be used: %s", doing, locking.ErrNoQuorum, len(good), set.Len(), strings.Join(why, "; ")),
		errs: append(errs, locking.ErrNoQuorum),
	}
}

// A quorumError is locking.ErrNoQuorum and what each node said, on one line.
type quorumError struct {
	text string
	errs []error
}

func (e *quorumError) Error() string { return e.text }

// Unwrap returns locking.ErrNoQuorum and the nodes' errors.
func (e *quorumError) Unwrap() []error { return e.errs }
