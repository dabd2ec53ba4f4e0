package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// A group is the nodes that vote together, and what their last replies say. Run keeps
// the replies younger than about Config.CheckEvery.
type group struct{ nodes []*Node }

// Len returns how many nodes are configured.
func (g group) Len() int { return len(g.nodes) }

// Quorum returns how many nodes are a quorum.
func (g group) Quorum() int { return len(g.nodes)/2 + 1 }

// single reports whether one node is the whole store. Another server may take its place.
func (g group) single() bool { return len(g.nodes) == 1 }

// OneStore reports whether one Redis keeps everything, in place of a list of nodes.
func (g group) OneStore() bool { return g.single() && g.nodes[0].name == SingleName }

// Silence is locking.ErrNoQuorum, in other words for one store.
func (g group) Silence() error {
	if g.OneStore() {
		return storeSilent{}
	}
	return locking.ErrNoQuorum
}

// Nodes returns the nodes in the order of the configuration.
func (g group) Nodes() []*Node { return slices.Clone(g.nodes) }

// Names returns the nodes' names in the order of the configuration.
func (g group) Names() []string {
	names := make([]string, len(g.nodes))
	for i, n := range g.nodes {
		names[i] = n.name
	}
	return names
}

// NewFan returns a Fan over the nodes, for Start.
func (g group) NewFan() *client.Fan { return &client.Fan{Quorum: g.Quorum()} }

// Call runs the script on all nodes at once, as Node.Call does, and returns one reply
// per node, in the order of the configuration.
func (g group) Call(ctx context.Context, script *Script, keys []string, args ...any) []Reply {
	return each(g.nodes, func(n *Node) Reply { return n.Call(ctx, script, keys, args...) })
}

// Answers returns the replies of the nodes that answered. With fewer than a quorum the
// error matches locking.ErrNoQuorum and quotes the others. It also matches
// locking.ErrRefused if nodes refused it. Doing describes the operation.
func (g group) Answers(doing string, replies []Reply) ([]Reply, error) {
	var good []Reply
	var errs errorList
	refuse, silence := 0, g.Silence()
	for _, r := range replies {
		if r.Err == nil {
			good = append(good, r)
			continue
		}
		errs = append(errs, locking.NodeError{Node: r.Node, Err: r.Err})
		if Refuses(r.Err) {
			refuse++
		}
	}
	if len(good) >= g.Quorum() {
		return good, nil
	}
	if refuse > g.Len()-g.Quorum() {
		silence = refusal{}
	}
	if g.OneStore() {
		return nil, fmt.Errorf("%s: %w: %w", doing, silence, replies[0].Err)
	}
	return nil, fmt.Errorf("%s: %w: %d of %d nodes can be used: %w",
		doing, silence, len(good), g.Len(), errs)
}

// each runs f for every node at once and waits for all.
func each[T any](list []*Node, f func(*Node) T) []T {
	out := make([]T, len(list))
	var wg sync.WaitGroup
	for i, n := range list {
		wg.Go(func() { out[i] = f(n) })
	}
	wg.Wait()
	return out
}

// A NodeState is what is known of a node without calling it.
type NodeState struct {
	Node string
	// Up reports whether the node answered the last call. Votes reports whether it also
	// votes on current ticks: it is not blank, takes writes, does not abstain, and neither
	// side refuses the other.
	Up, Votes bool
	// Offset is how far its clock is ahead of the local one, measured over the shortest
	// recent round trip, RTT. RTT is zero for a node that has never answered.
	Offset, RTT time.Duration
}

// NodeStates returns what is known of each node, in the order of the configuration.
func (g group) NodeStates() []NodeState {
	all := make([]NodeState, len(g.nodes))
	for i, n := range g.nodes {
		c := n.condition()
		all[i] = NodeState{
			Node: n.name, Up: c.clock.taken && c.cause == nil,
			Votes:  c.hasFloor && c.votes(time.Now()),
			Offset: c.clock.offset, RTT: c.clock.rtt,
		}
	}
	return all
}

// Vouching returns when a quorum of the nodes votes on ticks again, by the local clock;
// zero if it does now. Ok is false while fewer than a quorum are up and known.
func (g group) Vouching() (at time.Time, ok bool) {
	at, ok = g.quorumOf(func(c condition) bool {
		return c.cause == nil && c.refused == nil && c.rejected == nil && c.unwritable == nil
	})
	if !at.After(time.Now()) {
		at = time.Time{}
	}
	return at, ok
}

// quorumOf returns when a quorum of the nodes accepted by counts votes, false if too
// few are known.
func (g group) quorumOf(counts func(condition) bool) (time.Time, bool) {
	var moments []time.Time
	for _, n := range g.nodes {
		if c := n.condition(); c.hasFloor && counts(c) {
			moments = append(moments, c.vouches())
		}
	}
	if len(moments) < g.Quorum() {
		return time.Time{}, false
	}
	slices.SortFunc(moments, time.Time.Compare)
	return moments[g.Quorum()-1], true
}

// Unusable returns an error for each node that cannot be used now.
func (g group) Unusable() []error {
	var errs []error
	for _, n := range g.nodes {
		c := n.condition()
		switch {
		case c.refused != nil:
			errs = append(errs, c.refused) // names the node
		case c.rejected != nil:
			errs = append(errs, c.rejected)
		case c.cause != nil:
			errs = append(errs, locking.NodeError{Node: n.name, Err: c.cause})
		case c.unwritable != nil:
			errs = append(errs, c.unwritable)
		case c.blank:
			errs = append(errs, locking.NodeError{Node: n.name, Err: ErrBlank})
		case !c.hasFloor:
			errs = append(errs, locking.NodeError{Node: n.name, Err: errNotAsked})
		}
	}
	return errs
}

// errNotAsked: the node has not been called yet.
var errNotAsked = errors.New("not called yet")

// offsets returns how far each node's clock is ahead of the local one, by its replies.
// Nodes that never answered are left out.
func (g group) offsets() []skew {
	var list []skew
	for _, n := range g.nodes {
		if c := n.condition(); c.clock.taken {
			list = append(list, skew{n.name, c.clock.offset})
		}
	}
	return list
}
