package membership

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// retryPause is the pause between calls to a node that is down while Run is not
// running.
const retryPause = 2 * time.Second

// A Set is the nodes of a cluster. It may be used by many goroutines.
type Set struct {
	group
	era
	cfg     Config
	members membership
	rules   rules
	wake    chan struct{}

	running atomic.Bool // Run probes nodes that are down
}

// Open returns the Set of cfg without contacting any node. It must be closed.
func Open(cfg Config) (*Set, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Set{cfg: cfg, rules: newRules(), wake: make(chan struct{}, 1)}
	var names []string
	for i, c := range cfg.Nodes {
		u, err := c.address()
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, &Node{name: c.Name, set: s, link: client.NewLink(c.Name, u, s.wire(i))})
		names = append(names, c.Name)
	}
	s.members = newMembership(names)
	return s, nil
}

// wire is how to reach the i-th node.
func (s *Set) wire(i int) client.Config {
	cfg := &s.cfg
	out := client.Config{
		Username: cfg.Username, Password: cfg.Password, TLS: cfg.TLS, Dial: cfg.Dial, Transport: cfg.Transport,
		Timeout: cfg.Timeout, Patience: cfg.TTL / 4, Copies: cfg.Copies, Key: s.Key("node"), Up: cfg.Observer.Up,
		Down: func(node string, err error) {
			if cfg.Observer.Down != nil {
				cfg.Observer.Down(node, err)
			}
			s.wakeRun()
		},
	}
	if cfg.Fresh != nil {
		out.Fresh = func() (client.Config, client.URL, error) {
			now, err := cfg.Fresh()
			if err != nil {
				return client.Config{}, client.URL{}, err
			}
			u, err := now.Nodes[i].address()
			return client.Config{Username: now.Username, Password: now.Password, TLS: now.TLS}, u, err
		}
	}
	return out
}

// Close closes the connections. Calls in flight fail.
func (s *Set) Close() error {
	return errors.Join(each(s.nodes, func(n *Node) error { return n.link.Close() })...)
}

// Copies returns Config.Copies.
func (s *Set) Copies() int { return s.cfg.Copies }

// Namespace returns the prefix of every key, without its braces.
func (s *Set) Namespace() string { return s.cfg.Namespace }

// Timeout returns how long a call to a node may take.
func (s *Set) Timeout() time.Duration { return s.cfg.Timeout }

// TTL returns the length of a lease.
func (s *Set) TTL() time.Duration { return s.cfg.TTL }

// Grace returns how long a restarted node abstains.
func (s *Set) Grace() time.Duration { return s.cfg.Grace }

// Key returns a key of the namespace with the given parts.
func (s *Set) Key(parts ...string) string {
	return prefix(s.cfg.Namespace) + strings.Join(parts, ":")
}

// prefix is the start of every key of the namespace. The braces are its hash tag, so a
// Redis Cluster keeps all keys together.
func prefix(namespace string) string { return "{" + namespace + "}:" }

// JobKey returns a key of a job with the given last part: lock, claim or runs.
func (s *Set) JobKey(job, part string) string {
	return prefix(s.cfg.Namespace) + "job:" + job + ":" + part
}

// Lacking returns nil unless Run is running and so many nodes are down that no quorum
// is left. Then it returns a reply per node, with an error for nodes that are down.
// Callers should not ask the others for a claim: it would only cause load and leave
// remains.
func (s *Set) Lacking() []Reply {
	if !s.running.Load() {
		return nil
	}
	up := 0
	var replies [locking.MostNodes]Reply
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
	return append([]Reply(nil), replies[:len(s.nodes)]...)
}

// RemembersSince returns since when a quorum of the nodes remembers, by the local
// clock. A quorum of answers shows what a quorum has stored since then; older data may
// be lost. Ok is false while fewer than a quorum are known.
func (s *Set) RemembersSince() (since time.Time, ok bool) {
	if since, ok = s.quorumOf(func(condition) bool { return true }); ok {
		since = since.Add(-s.cfg.Grace)
	}
	return since, ok
}

// pause is how long a node that is down is not called; 0 for as long as Run probes it.
func (s *Set) pause() time.Duration {
	if s.running.Load() {
		return 0
	}
	return retryPause
}

// wakeRun wakes Run, if it is running: a node needs attention.
func (s *Set) wakeRun() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Learn finds the epoch without changing anything on the nodes, for callers that have
// not joined.
func (s *Set) Learn(ctx context.Context) { s.examine(ctx) }

// An era holds the epoch of the list, as learned from the nodes.
type era struct {
	mu       sync.Mutex
	epoch    int64
	sealedAt int64 // latest clock reading of the seals of the list before, ms
	fixed    bool  // a quorum agreed; the epoch does not change any more
}

// Epoch returns the epoch of the list: 0 until Join or Learn found another. It grows by
// one with each change of the list, and is fixed once a quorum of nodes agrees. Every
// request carries it, so nodes refuse replicas with a former list.
func (e *era) Epoch() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.epoch
}

// seals returns the latest clock reading of the seals before this list, 0 if the list
// was never changed.
func (e *era) seals() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sealedAt
}

// set sets the final epoch.
func (e *era) set(epoch int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.epoch, e.fixed = epoch, true
}

// learn takes the epoch from the nodes that hold the list: the one of a quorum, else
// the largest, since the others were left behind.
func (e *era) learn(views []view, quorum int) {
	epoch, agreed := agree(views, quorum)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.fixed {
		e.epoch, e.fixed = epoch, agreed
	}
	for _, v := range views {
		if v.listed() && v.held.epoch == e.epoch && v.held.sealedFor == "" {
			e.sealedAt = max(e.sealedAt, v.held.sealedAt)
		}
	}
}

// agree returns the epoch of the nodes that hold the list, and whether a quorum has it.
func agree(views []view, quorum int) (epoch int64, agreed bool) {
	holders := map[int64]int{}
	for _, v := range views {
		if !v.listed() {
			continue
		}
		if holders[v.held.epoch]++; holders[v.held.epoch] >= quorum {
			return v.held.epoch, true
		}
		epoch = max(epoch, v.held.epoch)
	}
	return epoch, false
}
