package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/locking"
)

// Inspect examines all nodes, late ones twice. It changes nothing on them, except that
// a node with an unnoticed restart abstains from now on.
func (s *Set) Inspect(ctx context.Context) []health.Node {
	views := s.examineWith(ctx, (*Node).examineTwice)
	out := make([]health.Node, len(views))
	for i, v := range views {
		out[i] = v.status()
	}
	return out
}

// examineTwice examines the node again if it was late.
func (n *Node) examineTwice(ctx context.Context) view {
	v := n.examine(ctx)
	if late(v.reply.Err) && ctx.Err() == nil {
		v = n.examine(ctx)
	}
	return v
}

// late reports whether a call ran out of time, as opposed to an error of the node or its
// machine.
func late(err error) bool {
	var end net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &end) && end.Timeout()
}

func (v view) status() health.Node {
	st := health.Node{
		Name: v.node.name, URL: v.node.URL(), Reachable: v.answered(), Blank: v.blank(),
		Role: v.info["role"], Version: v.info.version(), RunID: v.info.runID(),
		Persistence: v.info.persistence(), MaxmemoryPolicy: v.info.eviction(),
		Warnings: v.warnings(), Err: v.judge(),
	}
	if st.Err == nil {
		st.Err = v.reply.Err
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
	st.Members = strings.Fields(v.record.names)
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
	if p := v.info.eviction(); strings.HasPrefix(p, "volatile-") {
		all = append(all, fmt.Sprintf("maxmemory-policy %s may evict leases (tokens and claims stay): run CONFIG SET maxmemory-policy noeviction there, and write it into its redis.conf", p))
	}
	if text := v.copiesText(); text != "" {
		all = append(all, text)
	}
	return all
}

// copiesText says what is wrong with redis.copies: the number of replicas of the only node.
func (v view) copiesText() string {
	if !v.node.set.single() || v.info["connected_slaves"] == "" {
		return ""
	}
	want, have := v.node.set.cfg.Copies, int(v.info.number("connected_slaves"))
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

// Check examines all nodes: the cost of a restart, settings that will fail, clock
// offsets, and which node may be restarted. Like Inspect it changes nothing.
func (s *Set) Check(ctx context.Context) health.Checkup {
	views := s.examine(ctx)
	for range rounds {
		each(s.nodes, func(n *Node) Reply { return n.Call(ctx, s.rules.peek, nil) })
	}
	fsync := each(s.nodes, func(n *Node) string { return n.link.Setting(ctx, "appendfsync") })
	apart := skews(s.offsets(), s.cfg.Grace/4)
	var c health.Checkup
	each(nodesOf(views, view.usable), func(n *Node) error { return tryWrites(ctx, n) })
	c.Service, _ = s.Service(ctx, "", false) // without a quorum the findings say why
	for i, v := range views {
		n := v.status()
		n.Fsync, n.MaxMemory, n.UsedMemory = fsync[i], v.info.number("maxmemory"), v.info.number("used_memory")
		if best := v.node.current().clock; best.taken {
			n.RTT, n.Offset = best.rtt, best.offset
		}
		n.Findings = slices.Concat(judgeState(n), s.judgeClock(apart, n.Name), judgeData(n, s, v), judgeMemory(n), judgeLatency(n, s))
		c.Nodes = append(c.Nodes, n)
	}
	c.Local = s.judgeClock(apart, "")
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

// judgeState says why the node does not vote, if it does not.
func judgeState(n health.Node) []health.Finding {
	switch {
	case !n.Reachable:
		return []health.Finding{{Topic: "state", Level: health.Fix, Text: "it does not answer (" + n.Err.Error() + "): start it, or replace it"}}
	case n.Blank && !errors.Is(n.Err, locking.ErrRefused):
		return []health.Finding{{Topic: "state", Level: health.Fix, Text: "it is blank: a replica formats it when it may, see the replicas' logs; declare what is new with quorate store init, before the first replica starts"}}
	case n.Err != nil:
		return []health.Finding{{Topic: "state", Level: health.Fix, Text: withoutNode(n.Name, n.Err)}}
	case !n.Vouches:
		return []health.Finding{{Topic: "state", Level: health.Wait, Text: n.Why}}
	}
	return nil
}

// judgeClock returns the finding on the clock of a node, or of this machine without a
// name.
func (s *Set) judgeClock(apart []skew, name string) []health.Finding {
	for _, c := range apart {
		if c.who == name {
			return []health.Finding{{Topic: "clock", Level: health.Fix, Text: fmt.Sprintf("its clock is %v from the median of all: set it right, at %v apart votes are lost",
				c.by.Round(time.Millisecond), s.cfg.Grace/2)}}
		}
	}
	return nil
}

// judgeLatency finds nodes that may soon time out.
func judgeLatency(n health.Node, s *Set) []health.Finding {
	if n.RTT <= s.cfg.Timeout/4 {
		return nil
	}
	return []health.Finding{{Topic: "latency", Level: health.Fix, Text: fmt.Sprintf("it answers in %v at best, and counts as down after redis.node_timeout %v: raise that, or move the node nearer",
		n.RTT.Round(time.Millisecond), s.cfg.Timeout)}}
}

// fullShare is the share of maxmemory above which Check warns.
const fullShare = 0.8

// judgeMemory finds nodes that will soon refuse writes.
func judgeMemory(n health.Node) []health.Finding {
	if n.MaxMemory == 0 || float64(n.UsedMemory) < fullShare*float64(n.MaxMemory) {
		return nil
	}
	return []health.Finding{{Topic: "memory", Level: health.Fix, Text: fmt.Sprintf("it has used %d%% of its maxmemory; at 100%% it refuses every claim (OOM): raise maxmemory, or check what else is stored there", 100*n.UsedMemory/n.MaxMemory)}}
}

// judgeData says what a restart or an eviction of keys would delete, and what that
// costs.
func judgeData(n health.Node, s *Set, v view) []health.Finding {
	if !n.Reachable || n.Embedded {
		return nil
	}
	var found []health.Finding
	if strings.HasPrefix(n.MaxmemoryPolicy, "volatile-") {
		found = append(found, health.Finding{Topic: "eviction", Level: health.Fix, Text: n.Warnings[0]})
	}
	found = append(found, s.judgeCopies(v)...)
	loses, level := loses(n, v.info, s.OneStore())
	if s.cfg.Durable && n.Fsync != "always" {
		return append(found, notDurable(n, loses))
	}
	if replicas := v.info.number("connected_slaves"); replicas > 0 && s.cfg.Durable && !s.single() {
		found = append(found, health.Finding{Topic: "replicas", Level: health.Fix, Text: "it has replicas: promoting one forgets what had not reached it, while redis.durable says that nothing is ever lost; a tick could run twice. Set redis.durable: false, or give up the failover"})
	}
	if loses == "" {
		return found
	}
	return append(found, health.Finding{Topic: "persistence", Level: level, Text: fmt.Sprintf("a crash loses %s. Restarted, it abstains for the restart_grace of %v, so no tick runs twice", loses, s.cfg.Grace)})
}

// judgeCopies says what is promised if another server takes the place of the only node.
func (s *Set) judgeCopies(v view) []health.Finding {
	if text := v.copiesText(); text != "" {
		return []health.Finding{{Topic: "replicas", Level: health.Fix, Text: text}}
	}
	switch {
	case !s.OneStore():
		return nil
	case s.cfg.Durable:
		return []health.Finding{{Topic: "replicas", Level: health.Note, Text: "redis.durable says that a server that takes its place has everything that it acknowledged: this is not checked"}}
	case s.cfg.Copies > 0:
		return []health.Finding{{Topic: "replicas", Level: health.Note, Text: fmt.Sprintf("a claim counts when all %d replicas have it: no tick runs twice, even if one of them takes its place while it still runs. After that no tick starts for the restart_grace of %v", s.cfg.Copies, s.cfg.Grace)}}
	}
	return []health.Finding{{Topic: "replicas", Level: health.Note, Text: fmt.Sprintf("it has no replica. If another server takes its place, no tick starts for the restart_grace of %v. No tick runs twice if this server is silent by then", s.cfg.Grace)}}
}

// loses describes what the node loses in a crash, "" for nothing.
func loses(n health.Node, info serverInfo, oneStore bool) (string, health.Level) {
	switch {
	case n.Persistence == "none" && oneStore:
		return "all it holds; back before another server takes its place, it empties its replicas, too; set appendonly yes", health.Fix
	case n.Persistence == "none":
		return "all it holds: its part of the ledger is gone, and with a quorum of such nodes all of it; set appendonly yes", health.Fix
	case n.Persistence == "rdb":
		return fmt.Sprintf("what came after its last snapshot, %s writes by now, and that part of the ledger; appendonly yes loses less", cmp.Or(info["rdb_changes_since_last_save"], "no")), health.Note
	case n.Persistence == "aof" && n.Fsync == "everysec":
		return "its last second (appendfsync everysec)", health.Note
	case n.Persistence == "aof" && n.Fsync == "no":
		return "what the system had not written to disk yet (appendfsync no)", health.Note
	case n.Persistence == "aof" && n.Fsync == "":
		return "its last second unless appendfsync is always, which cannot be read here (+config|get for the user of this command shows it)", health.Note
	}
	return "", health.Note
}

// notDurable reports that redis.durable is wrong.
func notDurable(n health.Node, loses string) health.Finding {
	if n.Persistence == "aof" && n.Fsync == "" {
		return health.Finding{Topic: "persistence", Level: health.Note, Text: "redis.durable needs appendfsync always, which cannot be read here: make sure of it"}
	}
	return health.Finding{Topic: "persistence", Level: health.Fix, Text: "redis.durable says that a restart loses nothing, but a crash loses " + loses + ". A tick could run twice: set appendonly yes and appendfsync always, or redis.durable: false"}
}
