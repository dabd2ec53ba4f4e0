package nodetest

import (
	"fmt"
	"strings"
	"time"
)

// Embedded is the error of INFO in scripts on an embedded server, which has no run_id.
const Embedded = "section (server) is not supported"

// sweepEvery is the number of calls between sweeps of expired data.
const sweepEvery = 1000

// A Node is one server. Only one goroutine at a time may use it.
type Node struct {
	// RunID is what INFO reports; another one means a restart.
	RunID string
	// InfoError is what INFO answers instead, such as Embedded.
	InfoError string
	// Without are the checks that this node omits.
	Without Without

	State

	calls int
}

// New returns a blank node.
func New(runID string) *Node {
	return &Node{RunID: runID, State: Nothing()}
}

// Copy returns a node that shares nothing with n.
func (n *Node) Copy() *Node {
	c := *n
	c.State = n.State.Copy()
	return &c
}

// Restart restarts the server with the given memory: its own State (nothing lost), a
// Copy of an older one, one without expiring data (see Lasting), or Nothing.
func (n *Node) Restart(runID string, memory State) {
	n.RunID, n.State = runID, memory
}

// Info returns the server's INFO.
func (n *Node) Info() (string, error) {
	if n.InfoError != "" {
		return "", fmt.Errorf("%s", n.InfoError)
	}
	return strings.Join([]string{
		"# Server", "redis_version:7.2.4", "run_id:" + n.RunID,
		"# Replication", "role:master", "master_replid:" + n.RunID, "# Cluster", "cluster_enabled:0",
		"# Memory", "maxmemory_policy:noeviction", "# Persistence", "aof_enabled:1", "",
	}, "\r\n"), nil
}

// Call runs a script: keys and args are its KEYS and ARGV, now is the server's clock.
// The error matches ErrScript if the script would fail.
func (n *Node) Call(now time.Time, script string, keys, args []string) ([]string, error) {
	args, err := taken(args)
	if err != nil {
		return nil, err
	}
	c := &call{n: n, script: script, keys: keys, args: args, now: float64(now.UnixMilli())}
	if n.calls++; n.calls%sweepEvery == 0 {
		n.Sweep(now)
	}
	switch script {
	case "format":
		return c.format()
	case "open":
		return c.open()
	case "peek":
		if no, err := c.memory(); no != nil || err != nil {
			return no, err
		}
		return c.peek(), nil
	}
	rule, ok := c.rule(script)
	if !ok {
		return nil, scriptError("there is no script %q", script)
	}
	if no, err := c.memory(); no != nil || err != nil {
		return no, err
	}
	if no, err := c.membership(); no != nil || err != nil {
		return no, err
	}
	if !reads[script] && (script != "announce" || len(c.rest(5)) > 0) {
		n.Member.Served = true
	}
	answer, err := rule()
	if err != nil {
		return nil, err
	}
	wire := append(make([]string, 0, len(answer)+2), answer[0], digits(c.now), digits(c.floor))
	return append(wire, answer[1:]...), nil
}

// reads are the scripts that do not mark the node as serving replicas. All others are
// writes of replicas.
var reads = map[string]bool{
	"init": true, "seal": true, "try": true, "look": true, "evict": true, "forget": true, "names": true, "holding": true,
	"read": true, "log": true, "published": true,
}

// rule returns the rule of a script. It returns the code and what follows clock and
// floor.
func (c *call) rule(script string) (func() ([]string, error), bool) {
	switch script {
	case "init":
		return c.init, true
	case "seal":
		return c.seal, true
	case "serve":
		return c.serve, true
	case "try":
		return func() ([]string, error) { return []string{"OK"}, nil }, true
	case "look":
		return c.job((*jobCall).look), true
	case "lock":
		return c.job((*jobCall).lock), true
	case "commit":
		return c.job((*jobCall).commit), true
	case "extend":
		return c.job((*jobCall).extend), true
	case "finish":
		return c.job((*jobCall).finish), true
	case "void":
		return c.job((*jobCall).void), true
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
