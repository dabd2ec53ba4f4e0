package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
)

// FormatVersion is the version of all data that this release stores on nodes. It reads
// no other.
const FormatVersion = 2

// untagged is the key of the node's record up to format 1, whose keys had no hash tag.
func untagged(namespace string) string { return namespace + ":node" }

// A view is the result of one examination of a node.
type view struct {
	node   *Node
	info   client.Info
	record record
	reply  Reply // of PEEK; Err may also be that of INFO
}

// A record is the content of ns:node.
type record struct {
	name, listHash, grace, runID string
	epoch                        int64
	since                        time.Time // it remembers since then, by its clock; zero: declared as new, it has forgotten nothing
	floor                        time.Time // it abstains for ticks up to here, by its clock
	embedded                     bool
	listNames                    string
	served                       bool
	sealedFor, sealedNames       string // of a change to another list
	sealedAt                     int64  // by the clocks of the nodes that were sealed
}

func (v view) answered() bool { return answered(v.reply.Err) }

func (v view) blank() bool { return errors.Is(v.reply.Err, ErrBlank) }

// hasList reports whether the node is formatted for the list of this Set, at any epoch.
func (v view) hasList() bool {
	return v.reply.Err == nil && v.record.listHash == v.node.set.hash
}

// hasListAndEpoch reports whether the node is formatted for the list of this Set, at its epoch.
func (v view) hasListAndEpoch() bool {
	return v.hasList() && v.record.epoch == v.node.set.epoch.get()
}

// usable reports whether the node is a member that may be used.
func (v view) usable() bool { return v.reply.Err == nil && v.judge() == nil }

// examine asks the node for its identity and its record, even if it is down.
func (n *Node) examine(ctx context.Context) view {
	v := view{node: n, reply: Reply{Node: n.name, Sent: time.Now()}}
	info, err := n.link.Info(ctx)
	if err = infoError(n, err); err != nil {
		v.reply.Received = time.Now()
		v.reply.Err = err
		return v
	}
	v.info = info
	n.learn(func(s *state) { s.runID = info.RunID() })
	if v.reply = n.run(ctx, n.set.rules.peek, nil); v.blank() {
		v.reply.Err = n.unrecorded(ctx)
	}
	v.record = parseRecord(v.reply)
	return v
}

// infoError turns a denied INFO into a refusal: without the run_id a restart would go
// unnoticed. That does no harm if a restart loses nothing.
func infoError(n *Node, err error) error {
	answer, is := errors.AsType[*client.ServerError](err)
	switch {
	case !is || answer.Code != "NOPERM" && !answer.Unknown():
		return err
	case n.set.cfg.Durable:
		return nil
	}
	return n.refusal("info", answer.Text)
}

// unrecorded returns ErrBlank for a node without a record, unless it holds data of
// format 1. A Redis Cluster never held that, and keeps its key in another slot.
func (n *Node) unrecorded(ctx context.Context) error {
	if n.link.URL().Cluster() {
		return ErrBlank
	}
	key := untagged(n.set.cfg.Namespace)
	switch held, err := n.link.Holds(ctx, key); {
	case err != nil:
		return fmt.Errorf("it has no record, and its key %s cannot be checked for data of an older format: %w", key, err)
	case held:
		return n.refusal("format", "1")
	}
	return ErrBlank
}

// parseRecord reads the answer of peek.lua, by position.
func parseRecord(r Reply) record {
	if r.Err != nil || len(r.Args) < 10 {
		return record{}
	}
	h := record{
		name: r.Args[0], listHash: r.Args[1], epoch: r.Int(2), grace: r.Args[3], runID: r.Args[4],
		embedded: r.Args[6] == "1", sealedFor: r.Args[7], listNames: r.Args[8], served: r.Args[9] != "",
		sealedNames: cmp.Or(r.Arg(10), r.Args[7]), sealedAt: r.Int(11),
	}
	if since := r.Int(5); since != 0 {
		h.since = time.UnixMilli(since)
	}
	grace, _ := strconv.ParseInt(h.grace, 10, 64)
	h.floor = time.UnixMilli(r.Int(5) + grace)
	return h
}

// examine examines all nodes at once, and sets the epoch from what they say. It calls a node that
// does not answer in time again, at most `times` times in all.
func (s *Set) examine(ctx context.Context, times int) []view {
	views := Each(s.nodes, func(n *Node) view {
		v := n.examine(ctx)
		for i := 1; i < times && late(v.reply.Err) && ctx.Err() == nil; i++ {
			v = n.examine(ctx)
		}
		n.observe(ctx, v.reply)
		return v
	})
	s.epoch.learn(views, s.Quorum())
	return views
}

// late reports whether a call ran out of time, as opposed to an error of the node or its
// machine.
func late(err error) bool {
	var end net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &end) && end.Timeout()
}

// judgeServer checks the server, whatever it holds.
func (v view) judgeServer() error {
	n := v.node
	var refusal *RefusedError
	switch {
	case v.info == nil && !errors.As(v.reply.Err, &refusal):
		return nil // it said nothing to judge
	case v.info.TooOld():
		return n.refusalf("%s is Redis %s: use 6.2 or newer", n.URL(), v.info["redis_version"])
	case v.info["redis_mode"] == "sentinel":
		return n.refusalf("%s is a Sentinel, which watches masters and holds no data: write it under redis.sentinel.addresses, or list independent masters", n.URL())
	case v.info["cluster_enabled"] == "1" && !n.link.URL().Cluster():
		return n.refusalf("%s runs in cluster mode: write it under redis.cluster.addresses, or list independent masters", n.URL())
	case v.info.IsReplica():
		return n.refusalf("%s", v.replicaText())
	case strings.HasPrefix(v.info.Eviction(), "allkeys-"):
		return n.refusalf("%s has maxmemory-policy %s, which would evict claims: run CONFIG SET maxmemory-policy noeviction there, and write it into its redis.conf", n.URL(), v.info.Eviction())
	case len(v.info) > 0 && !n.set.cfg.Embedded && !n.set.cfg.Durable && v.info.RunID() == "":
		return n.refusal("info", "INFO names no run_id")
	case len(v.info) > 0 && !n.set.cfg.Embedded && !n.set.cfg.Durable && n.set.Len() == 1 && v.info["master_replid"] == "":
		return n.refusalf("%s names no master_replid in INFO, so a failover would go unnoticed; set redis.durable: true if no restart and no failover loses anything", n.URL())
	case errors.As(v.reply.Err, &refusal):
		return refusal
	}
	return nil
}

// judge returns what the node's answers say against using it, nil if nothing. For a node that did
// not answer, or is blank, see reply.Err.
func (v view) judge() error {
	if err := v.judgeServer(); err != nil || v.reply.Err != nil {
		return err
	}
	grace := strconv.FormatInt(v.node.set.cfg.Grace.Milliseconds(), 10)
	switch {
	case !v.hasList():
		return v.node.refusal("members", v.record.listNames)
	case !v.hasListAndEpoch():
		return v.node.refusal("epoch", strconv.FormatInt(v.record.epoch, 10))
	case v.record.name != v.node.name:
		return v.node.refusal("name", v.record.name)
	case v.record.grace != grace:
		return v.node.refusal("grace", v.record.grace)
	case v.record.sealedFor != "":
		return v.node.refusal("sealed", v.record.sealedNames)
	}
	return nil
}

// replicaText names the master of a node that is a replica.
func (v view) replicaText() string {
	master := net.JoinHostPort(v.info["master_host"], v.info["master_port"])
	for _, other := range v.node.set.nodes {
		if other != v.node && strings.EqualFold(other.link.URL().Addr, master) {
			return fmt.Sprintf("%s is a read-only replica of %s, which is listed too: list independent masters", v.node.URL(), other.URL())
		}
	}
	if v.node.set.OneStore() {
		return fmt.Sprintf("%s is a read-only replica of %s: its address must lead to the master", v.node.URL(), master)
	}
	return fmt.Sprintf("%s is a read-only replica of %s: list independent masters", v.node.URL(), master)
}

func (v view) offset() time.Duration {
	if v.reply.NodeTime.IsZero() {
		return 0
	}
	return v.reply.offset()
}

// sameServerErrors returns a refusal for each pair of nodes that are one server.
func sameServerErrors(views []view) []error {
	var errs []error
	seen := map[string]*Node{}
	for _, v := range views {
		id := v.info.RunID()
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
