package acts

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// keepExpired is how long nodes keep an expired request, as in common.lua.
const keepExpired = 24 * time.Hour

// learnAtOnce bounds how many acts are sent to a node in one call.
const learnAtOnce = 50

// A view is one node's answer about all acts. It is never changed.
type view struct {
	node    *membership.Node
	version string
	// vouches is false for a node that may have lost its memory: acts that it lacks may
	// still exist.
	vouches bool
	now     int64 // the node's clock, ms
	values  map[string]value
}

// readViews asks all nodes for their acts, and returns the views of those that answered.
// Nodes whose version is unchanged send nothing.
func (a *Acts) readViews(ctx context.Context, doing string) ([]view, error) {
	all := a.set.Nodes()
	replies, views := make([]membership.Reply, len(all)), make([]view, len(all))
	var asking sync.WaitGroup
	for i, n := range all {
		known := a.view(n)
		asking.Go(func() {
			replies[i] = n.Call(ctx, a.lua.look, a.keys(), known.version)
			if replies[i].Err == nil {
				views[i] = a.update(known, n, replies[i])
			}
		})
	}
	asking.Wait()
	if _, err := a.set.Answers(doing, replies); err != nil {
		return nil, err
	}
	for i, r := range replies {
		if r.Err == nil {
			a.keepView(views[i])
		}
	}
	return slices.DeleteFunc(views, func(v view) bool { return v.node == nil }), nil
}

// sendMissing sends each node what it lacks, and returns the views after that.
func (a *Acts) sendMissing(ctx context.Context, views []view, lacking []map[string]value) []view {
	views = slices.Clone(views)
	var telling sync.WaitGroup
	for i, lacks := range lacking {
		telling.Go(func() {
			for fields := range slices.Chunk(slices.Sorted(maps.Keys(lacks)), learnAtOnce) {
				args := []any{a.keep}
				for _, field := range fields {
					args = append(args, field, lacks[field].String())
				}
				if r := views[i].node.Call(ctx, a.lua.learn, a.keys(), args...); r.Err != nil {
					return // it is sent the next time
				}
			}
			if len(lacks) == 0 {
				return
			}
			r := views[i].node.Call(ctx, a.lua.look, a.keys(), views[i].version)
			if r.Err == nil {
				views[i] = a.update(views[i], views[i].node, r)
			}
		})
	}
	telling.Wait()
	for _, v := range views {
		a.keepView(v)
	}
	return views
}

// update returns the view of a node after its answer.
func (a *Acts) update(v view, n *membership.Node, r membership.Reply) view {
	next := view{node: n, version: v.version, now: r.NodeTime.UnixMilli(), vouches: r.Arg(0) == "1", values: v.values}
	if r.Code == "SAME" {
		return next
	}
	next.version, next.values = r.Arg(1), map[string]value{}
	for i := 2; i+1 < len(r.Args); i += 2 {
		parsed, err := parseValue(r.Args[i+1])
		if err != nil {
			a.Unreadable.Skipped("act "+r.Args[i], err)
			continue
		}
		next.values[r.Args[i]] = parsed
	}
	return next
}

// view returns the node's last view; without a version if there is none.
func (a *Acts) view(n *membership.Node) view {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.views[n.Name()]
}

func (a *Acts) keepView(v view) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.views[v.node.Name()] = v
}
