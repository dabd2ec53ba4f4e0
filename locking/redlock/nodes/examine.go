package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// A view is what one examination of a node found.
type view struct {
	node  *Node
	info  serverInfo
	held  holding
	reply Reply // of PEEK; its Err also stands for a failed INFO
}

// holding is what ns:node says.
type holding struct {
	name, members, grace, runID string
	epoch                       int64
	since                       time.Time // zero: declared as new
	floor                       time.Time // by the node's clock
	embedded                    bool
	names                       string
	served                      bool
	sealedFor, sealedNames      string // of a change to another list
	sealedAt                    int64  // by the clocks of the nodes that were sealed
}

// answered tells whether the node spoke at all.
func (v view) answered() bool { return !silent(v.reply.Err) }

// blank tells whether the node holds nothing of the namespace.
func (v view) blank() bool { return errors.Is(v.reply.Err, ErrBlank) }

// listed tells whether the node is formatted for the list of this Set, at
// whatever epoch.
func (v view) listed() bool {
	return v.reply.Err == nil && v.held.members == v.node.set.members.hash
}

// ours tells whether the node is formatted for the list of this Set.
func (v view) ours() bool {
	return v.listed() && v.held.epoch == v.node.set.Epoch()
}

// examine asks the node, whatever its health, what it is and what it holds.
func (n *Node) examine(ctx context.Context) view {
	v := view{node: n, reply: Reply{Node: n.name, Sent: time.Now()}}
	v.info, v.reply.Err = n.info(ctx)
	if v.reply.Err != nil {
		v.reply.Received = time.Now()
		v.reply.Err = n.infoError(v.reply.Err)
	} else {
		n.health.setRunID(v.info.runID())
		v.reply = n.run(ctx, n.set.rules.peek, nil, nil)
		v.held = parseHolding(v.reply)
	}
	return v
}

// infoError turns a denied INFO into a refusal: without the run_id a restart
// would go unnoticed.
func (n *Node) infoError(err error) error {
	var answer *ServerError
	if errors.As(err, &answer) && answer.Code == "NOPERM" {
		return n.refusal([]string{"info", answer.Text})
	}
	return err
}

func parseHolding(r Reply) holding {
	if r.Err != nil || len(r.Args) < 10 {
		return holding{}
	}
	h := holding{
		name: r.Args[0], members: r.Args[1], epoch: r.Int(2), grace: r.Args[3], runID: r.Args[4],
		embedded: r.Args[6] == "1", sealedFor: r.Args[7], names: r.Args[8], served: r.Args[9] != "",
		sealedNames: cmp.Or(r.Arg(10), r.Args[7]), sealedAt: r.Int(11),
	}
	if since := r.Int(5); since != 0 {
		h.since = time.UnixMilli(since)
	}
	grace, _ := strconv.ParseInt(h.grace, 10, 64)
	h.floor = time.UnixMilli(r.Int(5) + grace)
	return h
}

// examine asks all nodes at once, and learns the epoch from them.
func (s *Set) examine(ctx context.Context) []view { return s.examineWith(ctx, (*Node).examine) }

func (s *Set) examineWith(ctx context.Context, examine func(*Node, context.Context) view) []view {
	views := each(s.nodes, func(n *Node) view {
		v := examine(n, ctx)
		n.observe(ctx, v.reply)
		return v
	})
	s.era.learn(views, s.Quorum())
	return views
}

// judge returns why the node must not be used, nil if it may be.
func (v view) judge() error {
	if err := v.judgeServer(); err != nil {
		return err
	}
	return v.judgeHolding()
}

// judgeServer looks at the server, whatever it holds.
func (v view) judgeServer() error {
	n := v.node
	refuse := func(format string, args ...any) error {
		return &RefusedError{Node: n.name, Reason: fmt.Sprintf(format, args...)}
	}
	var refusal *RefusedError
	switch {
	case v.info == nil && !errors.As(v.reply.Err, &refusal):
		return nil // it did not say anything to be judged
	case v.info.tooOld():
		return refuse("%s is Redis %s: use 6.2 or newer", n.URL(), v.info["redis_version"])
	case v.info.sentinel():
		return refuse("%s is a Sentinel, which watches masters and holds no data: list the masters themselves, each independent of the others", n.URL())
	case v.info.cluster():
		return refuse("%s runs in cluster mode: list independent masters", n.URL())
	case v.info.replica():
		return refuse("%s", v.replicaText())
	case strings.HasPrefix(v.info.eviction(), "allkeys-"):
		return refuse("%s has maxmemory-policy %s, which would evict claims: run CONFIG SET maxmemory-policy noeviction there, and write it into its redis.conf", n.URL(), v.info.eviction())
	case v.info != nil && v.info.runID() == "" && !n.set.cfg.Embedded:
		return n.refusal([]string{"info", "INFO names no run_id"})
	case errors.As(v.reply.Err, &refusal):
		return refusal
	}
	return nil
}

// judgeHolding compares what a formatted node holds with what this Set wants.
func (v view) judgeHolding() error {
	grace := strconv.FormatInt(v.node.set.cfg.Grace.Milliseconds(), 10)
	switch told := v.reply.Err == nil; {
	case !told:
		return nil
	case !v.listed():
		return v.node.refusal([]string{"members", v.held.names})
	case !v.ours():
		return v.node.refusal([]string{"epoch", strconv.FormatInt(v.held.epoch, 10)})
	case v.held.name != v.node.name:
		return v.node.refusal([]string{"name", v.held.name})
	case v.held.grace != grace:
		return v.node.refusal([]string{"grace", v.held.grace})
	case v.held.sealedFor != "":
		return v.node.refusal([]string{"sealed", v.held.sealedNames})
	}
	return nil
}

// replicaText names the master of a node that is a replica, by its URL if it is
// listed too.
func (v view) replicaText() string {
	master := net.JoinHostPort(v.info["master_host"], v.info["master_port"])
	for _, other := range v.node.set.nodes {
		if other != v.node && strings.EqualFold(other.url.addr, master) {
			return fmt.Sprintf("%s is a read-only replica of %s, which is listed too: list independent masters", v.node.URL(), other.URL())
		}
	}
	return fmt.Sprintf("%s is a read-only replica of %s: list independent masters", v.node.URL(), master)
}

// offset is how far the node's clock is ahead of the local one.
func (v view) offset() time.Duration {
	if v.reply.NodeTime.IsZero() {
		return 0
	}
	middle := v.reply.Sent.Add(v.reply.Received.Sub(v.reply.Sent) / 2)
	return v.reply.NodeTime.Sub(middle).Round(0)
}

// warnings returns what the node's set-up will cost.
func (v view) warnings() []string {
	if p := v.info.eviction(); strings.HasPrefix(p, "volatile-") {
		return []string{fmt.Sprintf("maxmemory-policy %s may evict leases (tokens and claims stay): run CONFIG SET maxmemory-policy noeviction there, and write it into its redis.conf", p)}
	}
	return nil
}

// twins returns a refusal for each pair of nodes that are one server.
func twins(views []view) []error {
	var errs []error
	seen := map[string]*Node{}
	for _, v := range views {
		id := v.info.runID()
		if id == "" {
			continue
		}
		if other := seen[id]; other != nil {
			errs = append(errs, &RefusedError{Reason: fmt.Sprintf(
				"%s and %s are the same server (run_id %.8s…): each node must be a Redis of its own", other.URL(), v.node.URL(), id)})
		}
		seen[id] = v.node
	}
	return errs
}
