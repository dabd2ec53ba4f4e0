// Package membership knows which Redis masters ("nodes") vote, and whether each may. It
// checks a node's identity in every script, formats blank nodes, lets restarted nodes
// abstain, and changes the list of nodes. Package client carries the calls.
//
// Its words: the list is the names of the nodes; the epoch is how often the list was changed. A
// record is what a node stores of itself. A view is what one examination of a node found: its INFO
// and its record. A state is what all replies of a node have told this process so far. A
// health.Node is what operators see of a node.
//
// # A request
//
// Packages with their own rules pass their Lua to NewScript: redlock (claims),
// quorum/ledger (records) and quorum/commands (requests). Every script first checks:
//
//	ns:node missing          → BLANK, nothing is written
//	another run_id, repl_id  → the node restarted: it remembers since now
//	another format           → CONFIG: it must be cleared, nothing is converted
//	another list, epoch, …   → CONFIG, with the node's value
//
// Only an answer of the rule's own Lua is a vote. Refusals of these checks and failed calls are
// no votes: they are in Reply.Err.
//
// Calls to a node that does not answer fail at once, see package client. Set.Run probes
// such nodes and uses them again when they answer. Without Run, one call every few
// seconds serves as the probe.
//
// # The list
//
// PROTOCOL.md states the rules: how long a restarted node abstains (N0), when a blank
// node is formatted (M1), and how a cluster changes its list of nodes (M2, [Change]). A
// node with data of format 1, whose keys had no hash tag, is refused; it is not blank.
//
//	old list                                   new list
//	open ──SEAL target──► sealed ─ ─ Q of N ─ ─► OPEN target ──► open, epoch + 1
//	                        │                        ▲
//	                        └── in both lists ───────┘  keeps its claims
//
// A seal stores the target: the hash of the new list and its epoch. No other target
// ever replaces it, so a change that was begun must be finished. Nodes in both lists
// refuse replicas that start too early with the new list. A new list without nodes of
// the old one looks like a new cluster until it is opened. The old list
// can be used again only if a quorum (Q) of its nodes has no seal, because they never had
// one or have lost it.
//
// Nodes refuse a replica that was frozen during a change, because its list is another one. If
// the list was changed back meanwhile, they refuse it because its epoch is an older one. The epoch is in
// three places: in the record of each node, where FORMAT and OPEN put it; in the replica's Set, fixed by Join; and in
// the header of each request. members.lua compares them.
//
// # The node's record
//
// Every key begins with ns, the namespace in braces: {quorate}:node. So all keys of a
// namespace have the same hash tag. The hash ns:node is written by FORMAT, INIT, SEAL,
// OPEN, SERVICE, FORGET, copies and the checks before every script:
//
//	member        compared with each request: the node's name, as the replicas list
//	              it; hash of the sorted names of the list; epoch, the number of
//	              changes of the list; restart grace, ms; FormatVersion
//	names         of the list
//	run_id        of the server when it was last called
//	repl_id       its replication id then, for a node that is the whole store
//	since         the node remembers since then, by its own clock, ms; 0: it
//	              never served before it was formatted
//	embedded      1: a node without a run_id, for development
//	served        1: a replica has written here, or the list was changed; the node
//	              cannot be declared new
//	service       the name of the service that the namespace belongs to
//	sealed_for    while sealed: the target, hash:epoch
//	sealed_names  while sealed: the names of that list
//	sealed_at     while sealed: the latest reading of its clock, ms; after a
//	              change: the latest reading of all its seals
//	gc_fence      the largest token and the latest tick of jobs that were
//	gc_tick       forgotten here
package membership

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/locking"
)

// retryPause is the pause between calls to a node that is down while Run is not
// running.
const retryPause = 2 * time.Second

// A Set is the nodes of a cluster. It may be used by many goroutines.
type Set struct {
	cfg   Config
	nodes []*Node // in the order of the configuration
	// list is the names of the nodes, sorted, in one line: nodes store it for messages. Its
	// hash is in every request.
	list, hash string
	rules      rules
	wake       chan struct{} // for Run: a node needs attention
	running    atomic.Bool   // Run probes nodes that are down
	hour       health.Hour   // by Run

	epoch epoch
}

// An epoch counts the changes of the list. Every request carries it, so nodes refuse replicas
// with a former list, also if the list was changed back.
type epoch struct {
	mu    sync.Mutex
	count int64 // as learned from the nodes
	fixed bool  // a quorum agreed: the count does not change any more
	// sealedAt is the latest clock reading at which a node was sealed for the change to this list, ms;
	// 0: it was never changed. FORMAT passes it to blank nodes.
	sealedAt int64
}

// Open returns the Set of cfg without contacting any node. It must be closed.
func Open(cfg Config) (*Set, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Set{cfg: cfg, rules: newRules(), wake: make(chan struct{}, 1)}
	for i, c := range cfg.Nodes {
		u, err := c.address()
		if err != nil {
			return nil, err
		}
		s.nodes = append(s.nodes, &Node{name: c.Name, set: s, link: client.NewLink(c.Name, u, clientConfig(s, i))})
	}
	sorted := slices.Sorted(slices.Values(s.Names()))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\n")))
	s.list, s.hash = strings.Join(sorted, " "), hex.EncodeToString(sum[:16])
	return s, nil
}

// clientConfig returns how to connect to the i-th node.
func clientConfig(s *Set, i int) client.Config {
	cfg := &s.cfg
	out := client.Config{
		Username: cfg.Username, Password: cfg.Password, Credentials: cfg.Credentials, TLS: cfg.TLS, Dial: cfg.Dial, Transport: cfg.Transport,
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
	return errors.Join(Each(s.nodes, func(n *Node) error { return n.link.Close() })...)
}

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

// RepliesIfNoQuorum returns nil as long as a quorum of nodes is up. Otherwise it returns what a call
// of each node would, without calling any: a reply with an error if the node is down, else an empty one. Callers then should not ask the others for a claim:
// that only costs load, and leaves votes behind. Without Run it always returns nil.
func (s *Set) RepliesIfNoQuorum() []Reply {
	if !s.running.Load() {
		return nil
	}
	up := 0
	var replies [locking.MostNodes]Reply
	for i, n := range s.nodes {
		if replies[i] = n.unsendable(); !replies[i].unsent {
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
	if since, ok = s.quorumOf(func(state) bool { return true }); ok {
		since = since.Add(-s.cfg.Grace)
	}
	return since, ok
}

// wakeRun wakes Run, if it is running: a node needs attention.
func (s *Set) wakeRun() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// LearnEpoch reads the epoch from the nodes and changes nothing there, for callers that have not
// joined.
func (s *Set) LearnEpoch(ctx context.Context) { s.examine(ctx, 1) }

// get returns the epoch, 0 until learn or fix found another.
func (e *epoch) get() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// fix sets the epoch for good.
func (e *epoch) fix(count int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count, e.fixed = count, true
}

// learn takes the epoch from the nodes that hold the list: the one of a quorum, else the
// largest that any has told so far, since the others were left behind.
func (e *epoch) learn(views []view, quorum int) {
	count, agreed, holders := int64(0), false, map[int64]int{}
	for _, v := range views {
		if !v.hasList() {
			continue
		}
		if holders[v.record.epoch]++; holders[v.record.epoch] >= quorum {
			count, agreed = v.record.epoch, true
			break
		}
		count = max(count, v.record.epoch)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.fixed:
	case agreed:
		e.count, e.fixed = count, true
	default:
		e.count = max(e.count, count)
	}
	for _, v := range views {
		if v.hasList() && v.record.epoch == e.count && v.record.sealedFor == "" {
			e.sealedAt = max(e.sealedAt, v.record.sealedAt)
		}
	}
}

// Len returns how many nodes are configured.
func (s *Set) Len() int { return len(s.nodes) }

// Quorum returns how many nodes are a quorum.
func (s *Set) Quorum() int { return len(s.nodes)/2 + 1 }

// OneStore reports whether one Redis keeps everything, in place of a list of nodes.
func (s *Set) OneStore() bool { return s.Len() == 1 && s.nodes[0].name == SingleName }

// NoQuorumError returns locking.ErrNoQuorum. For one store it returns an error that matches it, and
// whose text does not speak of nodes.
func (s *Set) NoQuorumError() error {
	if s.OneStore() {
		return storeSilent{}
	}
	return locking.ErrNoQuorum
}

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

// List returns a number that identifies the list, and the names of the nodes, as the fields of
// locking.Poll. Unlike the hash that nodes compare, the number depends on the order of the nodes.
func (s *Set) List() (id uint32, names *[locking.MostNodes]string) {
	hash, names := fnv.New32a(), new([locking.MostNodes]string)
	for i, name := range s.Names() {
		names[i] = name
		_, _ = io.WriteString(hash, name+"\n")
	}
	return hash.Sum32(), names
}

// Call runs the script on all nodes at once, as Node.Call does, and returns one reply
// per node, in the order of the configuration.
func (s *Set) Call(ctx context.Context, script *Script, keys []string, args ...any) []Reply {
	return Each(s.nodes, func(n *Node) Reply { return n.Call(ctx, script, keys, args...) })
}

// Answers returns the replies without an error. If they are fewer than a quorum, the error matches
// locking.ErrNoQuorum and quotes the other replies. It also matches locking.ErrRefused if so many
// nodes refuse that no quorum is left. Doing describes the operation.
func (s *Set) Answers(doing string, replies []Reply) ([]Reply, error) {
	var good []Reply
	var errs errorList
	refuse, silence := 0, s.NoQuorumError()
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
	if len(good) >= s.Quorum() {
		return good, nil
	}
	if refuse > s.Len()-s.Quorum() {
		silence = refusedByQuorum{}
	}
	if s.OneStore() {
		return nil, fmt.Errorf("%s: %w: %w", doing, silence, replies[0].Err)
	}
	return nil, fmt.Errorf("%s: %w: %d of %d nodes can be used: %w",
		doing, silence, len(good), s.Len(), errs)
}

// Each runs f for every node at once and waits for all.
func Each[T any](list []*Node, f func(*Node) T) []T {
	out := make([]T, len(list))
	var wg sync.WaitGroup
	for i, n := range list {
		wg.Go(func() { out[i] = f(n) })
	}
	wg.Wait()
	return out
}

// NodeStates returns what is known of each node, in the order of the configuration.
func (s *Set) NodeStates() []health.State {
	all := make([]health.State, len(s.nodes))
	for i, n := range s.nodes {
		c := n.current()
		all[i] = health.State{
			Node: n.name, Up: c.clock.taken && c.cause == nil,
			Votes:  c.hasFloor && c.votes(time.Now()),
			Offset: c.clock.offset, RTT: c.clock.rtt, Latest: c.latest,
		}
	}
	return all
}

// LastHour returns what Run has known of the nodes in the last hour.
func (s *Set) LastHour(now time.Time) []health.Minute { return s.hour.Minutes(now) }

// QuorumVotesAt returns when a quorum of the nodes will vote on ticks, by the local clock; zero if it
// votes now. Ok is false while fewer than a quorum are up and known.
func (s *Set) QuorumVotesAt() (at time.Time, ok bool) {
	at, ok = s.quorumOf(func(c state) bool {
		return c.cause == nil && c.unfit == nil && c.refusal == nil && c.unwritable == nil
	})
	if !at.After(time.Now()) {
		at = time.Time{}
	}
	return at, ok
}

// quorumOf returns the time from which a quorum votes, among the nodes for which counts returns true.
// It returns false if too few are known.
func (s *Set) quorumOf(counts func(state) bool) (time.Time, bool) {
	var moments []time.Time
	for _, n := range s.nodes {
		if c := n.current(); c.hasFloor && counts(c) {
			moments = append(moments, c.vouches())
		}
	}
	if len(moments) < s.Quorum() {
		return time.Time{}, false
	}
	slices.SortFunc(moments, time.Time.Compare)
	return moments[s.Quorum()-1], true
}

// Unusable returns an error for each node that cannot be used now.
func (s *Set) Unusable() []error {
	var errs []error
	for _, n := range s.nodes {
		c := n.current()
		switch {
		case c.unfit != nil:
			errs = append(errs, c.unfit) // names the node
		case c.refusal != nil:
			errs = append(errs, c.refusal)
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
func (s *Set) offsets() []skew {
	var list []skew
	for _, n := range s.nodes {
		if c := n.current(); c.clock.taken {
			list = append(list, skew{n.name, c.clock.offset})
		}
	}
	return list
}

// Service returns the name of the service that the namespace belongs to; "" if it was never named.
// Before, nodes without a name store the given one, with replace all nodes do; "" stores nothing. The
// error matches locking.ErrNoQuorum when too few nodes answer.
func (s *Set) Service(ctx context.Context, name string, replace bool) (string, error) {
	instead := 0
	if replace {
		instead = 1
	}
	replies, err := s.Answers("reading whose namespace it is", s.Call(ctx, s.rules.service, nil, name, instead))
	if err != nil {
		return "", err
	}
	return serviceOf(replies), nil
}

// serviceOf returns the name that most nodes have. If two names are on equally many nodes, the first
// node in the configuration decides, so all replicas agree.
func serviceOf(replies []Reply) string {
	count := map[string]int{}
	var names []string
	for _, r := range replies {
		if name := r.Arg(0); name != "" {
			names = append(names, name)
			count[name]++
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return cmp.Or(append(names, "")...)
}
