package nodes

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// retryPause is how long a node that is down is left alone while nobody probes
// it in the background.
const retryPause = 2 * time.Second

// A Set is the nodes of a cluster. It may be used by many goroutines.
type Set struct {
	cfg     Config
	members membership
	nodes   []*Node
	era     era
	rules   rules
	wake    chan struct{}
	others  []*Set // the other cells

	running atomic.Bool // Run probes nodes that are down
}

// Open returns the Set of cfg without contacting any node. Close it at the end.
func Open(cfg Config) (*Set, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Set{cfg: cfg, rules: newRules(), wake: make(chan struct{}, 1)}
	var names []string
	for _, c := range cfg.Nodes {
		u, err := parseURL(c.URL)
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, &Node{name: c.Name, url: u, set: s, key: s.Key("node"), transport: newTransport(cfg, u)})
		names = append(names, c.Name)
	}
	s.members = newMembership(names, cfg.Cell, cfg.Cells)
	return s, nil
}

// Close closes the connections. Calls under way fail.
func (s *Set) Close() error {
	var errs []error
	for _, n := range s.nodes {
		if c, ok := n.transport.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Len returns how many nodes are configured.
func (s *Set) Len() int { return len(s.nodes) }

// Quorum returns how many nodes decide.
func (s *Set) Quorum() int { return len(s.nodes)/2 + 1 }

// Nodes returns the nodes in the order of the configuration.
func (s *Set) Nodes() []*Node { return slices.Clone(s.nodes) }

// Names returns the nodes' names in the order of the configuration.
func (s *Set) Names() []string {
	names := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		names[i] = n.name
	}
	return names
}

// Namespace returns the prefix of every key.
func (s *Set) Namespace() string { return s.cfg.Namespace }

// Timeout returns how long a call to a node may take.
func (s *Set) Timeout() time.Duration { return s.cfg.Timeout }

// TTL returns the length of a lease.
func (s *Set) TTL() time.Duration { return s.cfg.TTL }

// Grace returns how long a node that restarted abstains.
func (s *Set) Grace() time.Duration { return s.cfg.Grace }

// Key returns the key of the namespace with the given parts.
func (s *Set) Key(parts ...string) string {
	return s.cfg.Namespace + ":" + strings.Join(parts, ":")
}

// JobKey returns the key of a job that ends in the given part: lock, claim or
// runs.
func (s *Set) JobKey(job, part string) string { return s.Key("job", job, part) }

// Call runs the script on all nodes at once and returns one reply per node, in
// the order of the configuration. It returns when every node has answered, was
// found down, or ran into the timeout: never later. Calls of a batched script may
// wait for earlier ones before, for half of the timeout where a quorum has answered
// and for a quarter of a lease where it has not: then it is no single node that is
// slow, and who gave up would only begin anew.
func (s *Set) Call(ctx context.Context, script *Script, keys []string, args ...any) []Reply {
	return s.CallSome(ctx, everyone, script, keys, args...)
}

// CallSome is Call at the nodes that want names by their place in the
// configuration. The replies of the others are empty.
func (s *Set) CallSome(ctx context.Context, want func(node int) bool, script *Script, keys []string, args ...any) []Reply {
	if s.nodes[0].batches(script) {
		return callTogether(ctx, s.nodes, s.Quorum(), want, script, keys, args)
	}
	replies := make([]Reply, len(s.nodes))
	var wg sync.WaitGroup
	for i, n := range s.nodes {
		if want(i) {
			wg.Go(func() { replies[i] = n.Call(ctx, script, keys, args...) })
		}
	}
	wg.Wait()
	return replies
}

func everyone(int) bool { return true }

// Lacking returns nil unless so many nodes are known to be down that the others are no
// quorum, and Run is there to find out when they are back. Then it returns a reply
// per node, with why for those that are down: to ask the others for a claim would
// keep them busy, and leave something on them, for nothing.
func (s *Set) Lacking() []Reply {
	if !s.running.Load() {
		return nil
	}
	up, replies := 0, make([]Reply, len(s.nodes))
	for i, n := range s.nodes {
		reply, refused := n.refuses()
		if replies[i] = reply; !refused {
			replies[i].Node = n.name
			up++
		}
	}
	if up >= s.Quorum() {
		return nil
	}
	return replies
}

// pause is how long a node that is down is left alone, 0 for as long as Run
// probes it.
func (s *Set) pause() time.Duration {
	if s.running.Load() {
		return 0
	}
	return retryPause
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

// poke wakes Run, if it runs: a node needs attention.
func (s *Set) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
