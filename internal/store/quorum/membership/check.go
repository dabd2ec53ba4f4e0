package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/locking"
)

// Inspect examines all nodes, late ones twice. It changes nothing on them, except that
// a node with an unnoticed restart abstains from now on.
func (s *Set) Inspect(ctx context.Context) []health.Node {
	views := s.examine(ctx, 2)
	out := make([]health.Node, len(views))
	for i, v := range views {
		out[i] = v.status()
	}
	return out
}

func (v view) status() health.Node {
	st := health.Node{
		Name: v.node.name, URL: v.node.URL(), Reachable: v.answered(), Blank: v.blank(),
		Role: v.info["role"], Version: v.info.Version(), RunID: v.info.RunID(),
		Persistence: v.info.Persistence(), MaxmemoryPolicy: v.info.Eviction(),
		Warnings: v.warnings(), Err: cmp.Or(v.judge(), v.reply.Err),
	}
	if c := v.node.current(); st.Err == nil && c.unwritable != nil {
		st.Err = c.unwritable
	}
	_, unwritable := errors.AsType[*UnwritableError](st.Err)
	st.Refuses = unwritable || errors.Is(st.Err, locking.ErrRefused)
	cfg := &v.node.set.cfg
	st.Slow = !st.Reachable && late(v.reply.Err) && time.Since(v.node.current().heard) < cfg.CheckEvery
	if st.Slow {
		st.Err = fmt.Errorf("it did not answer within %v, asked twice, but has within the last %v: %w", cfg.Timeout, cfg.CheckEvery, st.Err)
	}
	if !v.reply.NodeTime.IsZero() {
		st.RTT, st.Offset = v.reply.Received.Sub(v.reply.Sent), v.offset()
	}
	if v.reply.Err != nil {
		return st
	}
	st.Embedded, st.Since, st.Epoch = v.record.embedded, v.record.since, v.record.epoch
	st.SealedFor = strings.Fields(v.record.sealedNames)
	st.Members = strings.Fields(v.record.listNames)
	st.Vouches = v.record.floor.Before(v.reply.NodeTime)
	st.VouchesAt = v.record.floor.Add(-st.Offset)
	if !st.Vouches && st.Err == nil {
		st.Why = fmt.Sprintf("it came, or came back, at %s and may have lost its memory: it votes on ticks after %s",
			clockTime(v.record.since.Add(-st.Offset)), clockTime(st.VouchesAt))
	}
	return st
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05Z") }

func (v view) warnings() []string {
	var all []string
	if p := v.info.Eviction(); strings.HasPrefix(p, "volatile-") {
		all = append(all, fmt.Sprintf("maxmemory-policy %s may evict leases (tokens and claims stay): run CONFIG SET maxmemory-policy noeviction there, and write it into its redis.conf", p))
	}
	if text := v.copiesText(); text != "" {
		all = append(all, text)
	}
	return all
}

// copiesText says what is wrong with redis.copies: the number of replicas of the only node.
func (v view) copiesText() string {
	if v.node.set.Len() != 1 || v.info["connected_slaves"] == "" {
		return ""
	}
	want, have := v.node.set.cfg.Copies, int(v.info.Number("connected_slaves"))
	replicas := fmt.Sprintf("it has %d replicas", have)
	if have == 1 {
		replicas = "it has 1 replica"
	}
	switch {
	case have < want:
		return fmt.Sprintf("%s, redis.copies is %d: no tick starts and no lease is extended until all follow it; start the missing ones, or lower redis.copies", replicas, want)
	case have > want && want == 0 && v.node.set.cfg.Durable:
		return replicas + ", and redis.durable says that one that takes its place has everything that it acknowledged. If that is not so, a tick may run twice: set redis.durable: false"
	case have > want:
		return fmt.Sprintf("%s, redis.copies is %d: if one takes its place while it still runs, a tick may run twice; set redis.copies: %d", replicas, want, have)
	}
	return ""
}

// rounds is how often Check asks each node for the time. The quickest answer counts.
const rounds = 5

// Check examines all nodes: settings, clock offsets, and which node may be restarted. The console
// says what to do about them. Like Inspect it changes nothing.
func (s *Set) Check(ctx context.Context) health.Checkup {
	views := s.examine(ctx, 1)
	for range rounds {
		Each(s.nodes, func(n *Node) Reply { return n.Call(ctx, s.rules.peek, nil) })
	}
	fsync := Each(s.nodes, func(n *Node) string { return n.link.Setting(ctx, "appendfsync") })
	apart := skews(s.offsets(), s.cfg.Grace/4)
	c := health.Checkup{ClockOff: apart[""], Redis: &health.Redis{Durable: s.cfg.Durable, Copies: s.cfg.Copies, Grace: s.cfg.Grace, Timeout: s.cfg.Timeout}}
	Each(nodesOf(views, view.usable), func(n *Node) error { return tryWrites(ctx, n) })
	c.Service, _ = s.Service(ctx, "", false) // without a quorum the findings say why
	for i, v := range views {
		n := v.status()
		n.Fsync, n.MaxMemory, n.UsedMemory = fsync[i], v.info.Number("maxmemory"), v.info.Number("used_memory")
		if best := v.node.current().clock; best.taken {
			n.RTT, n.Offset = best.rtt, best.offset
		}
		n.Unsaved, n.Replicas, n.ClockOff = v.info["rdb_changes_since_last_save"], int(v.info.Number("connected_slaves")), apart[n.Name]
		c.Nodes = append(c.Nodes, n)
	}
	for i := range c.Nodes {
		c.Nodes[i].MayRestart = vouching(c.Nodes, c.Nodes[i].Name) >= s.Quorum()
	}
	c.Next, c.NextAt = nextRestart(c.Nodes, s.Quorum())
	return c
}

// vouching counts the nodes that vote now, except the named one.
func vouching(nodes []health.Node, besides string) int {
	count := 0
	for _, n := range nodes {
		if n.Vouches && n.Err == nil && n.Name != besides {
			count++
		}
	}
	return count
}

// nextRestart chooses the node to restart next, or says when one may be restarted.
func nextRestart(nodes []health.Node, quorum int) (string, time.Time) {
	var vouch []health.Node
	var later []time.Time
	for _, n := range nodes {
		switch {
		case n.Err != nil:
		case n.Vouches:
			vouch = append(vouch, n)
		case !n.VouchesAt.IsZero():
			later = append(later, n.VouchesAt)
		}
	}
	if len(vouch) > quorum {
		longest := slices.MinFunc(vouch, func(a, b health.Node) int { return a.Since.Compare(b.Since) })
		return longest.Name, time.Time{}
	}
	slices.SortFunc(later, time.Time.Compare)
	if missing := quorum + 1 - len(vouch); missing <= len(later) {
		return "", later[missing-1]
	}
	return "", time.Time{}
}
