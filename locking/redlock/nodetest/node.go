package nodetest

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// Embedded is what scripts hear of INFO on an embedded server, which has no
// run_id.
const Embedded = "section (server) is not supported"

// A Node is one server. It is used by one goroutine at a time.
type Node struct {
	// RunID is what INFO says; another one is another life of the server.
	RunID string
	// InfoError is what INFO answers instead, such as Embedded.
	InfoError string
	// Without are the checks that this node leaves out.
	Without Without

	State

	sweepAt int // how many texts there may be until those that ran out are dropped
}

// Without names checks to be left out: a test of the protocol that stays green
// without one of them does not see what the check protects.
type Without struct {
	Fence   bool // accepts tokens that are not above the fence
	Tick    bool // knows nothing of ticks that are claimed, done or past
	Restart bool // takes no notice of its own restarts
	Compare bool // frees a lock without looking whose it is
}

// New returns a blank node.
func New(runID string) *Node {
	return &Node{RunID: runID, State: newState()}
}

// Copy returns a node that shares nothing with n.
func (n *Node) Copy() *Node {
	c := *n
	c.State = n.State.Copy()
	return &c
}

// Restart gives the server another life, in which it remembers no more than
// memory: its own State (nothing lost), a Copy of an older one, one without what
// runs out (see Lasting), or Nothing.
func (n *Node) Restart(runID string, memory State) {
	n.RunID, n.State = runID, memory
}

// Nothing is the memory of a server that lost all.
func Nothing() State { return newState() }

// Lasting returns a copy of s without what runs out: locks, their shares, and
// tombstones.
func (s State) Lasting() State {
	c := s.Copy()
	maps.DeleteFunc(c.Texts, func(_ string, t Text) bool { return t.Expires != 0 })
	maps.DeleteFunc(c.Shares, func(_ string, h Shares) bool { return h.Expires != 0 })
	return c
}

// Info is what the server says of itself.
func (n *Node) Info() (string, error) {
	if n.InfoError != "" {
		return "", fmt.Errorf("%s", n.InfoError)
	}
	return strings.Join([]string{
		"# Server", "redis_version:7.2.4", "run_id:" + n.RunID,
		"# Replication", "role:master", "# Cluster", "cluster_enabled:0",
		"# Memory", "maxmemory_policy:noeviction", "# Persistence", "aof_enabled:1", "",
	}, "\r\n"), nil
}

// Call runs a script: keys and args are its KEYS and ARGV, now is the server's
// clock. It returns an error of ErrScript where the script would fail.
func (n *Node) Call(now time.Time, script string, keys, args []string) ([]string, error) {
	c := &call{n: n, keys: keys, args: args, now: float64(now.UnixMilli())}
	if len(args) < headArgs {
		return nil, scriptError("%d arguments are too few", len(args))
	}
	if len(n.Texts) > n.sweepAt {
		n.Sweep(now)
		n.sweepAt = 2*len(n.Texts) + 64
	}
	switch script {
	case "format":
		return c.format()
	case "open":
		return c.open()
	case "peek":
		if no, err := c.incarnation(); no != nil || err != nil {
			return no, err
		}
		return c.peek(), nil
	}
	rule, ok := c.rule(script)
	if !ok {
		return nil, scriptError("there is no script %q", script)
	}
	if no, err := c.incarnation(); no != nil || err != nil {
		return no, err
	}
	if no, err := c.membership(); no != nil || err != nil {
		return no, err
	}
	answer, err := rule()
	if err != nil {
		return nil, err
	}
	wire := append(make([]string, 0, len(answer)+2), answer[0], digits(c.now), digits(c.floor))
	return append(wire, answer[1:]...), nil
}

// rule returns the rule of a script: its answer is the code and what follows
// clock and floor.
func (c *call) rule(script string) (func() ([]string, error), bool) {
	switch script {
	case "init":
		return c.init, true
	case "seal":
		return c.seal, true
	case "serve":
		return c.serve, true
	case "acquire":
		return c.acquire, true
	case "look":
		return c.look, true
	case "commit":
		return c.commit, true
	case "extend":
		return c.extend, true
	case "finish":
		return c.finish, true
	case "abort":
		return c.abort, true
	case "void":
		return c.void, true
	case "evict":
		return c.evict, true
	case "forget":
		return c.forget, true
	case "names":
		return c.names, true
	case "holding":
		return c.holding, true
	case "record":
		return c.record, true
	case "read":
		return c.read, true
	case "store":
		return c.store, true
	case "log":
		return c.log, true
	case "announce":
		return c.announce, true
	case "leave":
		return c.leave, true
	case "publish":
		return c.publish, true
	case "published":
		return c.published, true
	}
	return nil, false
}
