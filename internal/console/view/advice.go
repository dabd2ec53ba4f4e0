package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/locking"
)

// Advise adds to a checkup of Redis nodes what to do about settings and states that cost votes,
// memory or ticks, or will do so after a crash. Other stores bring their own findings.
func Advise(c *health.Checkup, oneStore bool) {
	set := c.Redis
	if set == nil {
		return
	}
	for i, n := range c.Nodes {
		c.Nodes[i].Findings = slices.Concat(n.Findings, adviseState(n), adviseClock(n.ClockOff, set), adviseData(n, set, len(c.Nodes), oneStore), adviseMemory(n), adviseLatency(n, set))
	}
	c.Local = append(c.Local, adviseClock(c.ClockOff, set)...)
}

// finding returns the only finding on a topic.
func finding(topic string, level health.Level, format string, args ...any) []health.Finding {
	return []health.Finding{{Topic: topic, Level: level, Text: fmt.Sprintf(format, args...)}}
}

// adviseState says why the node does not vote, if it does not.
func adviseState(n health.Node) []health.Finding {
	switch {
	case !n.Reachable:
		return finding("state", health.Fix, "it does not answer (%v): start it, or replace it", n.Err)
	case n.Blank && !errors.Is(n.Err, locking.ErrRefused):
		return finding("state", health.Fix, "it is blank: a replica formats it when it may, see the replicas' logs; declare what is new with quorate store init, before the first replica starts")
	case n.Err != nil:
		return finding("state", health.Fix, "%s", strings.TrimPrefix(n.Err.Error(), n.Name+": "))
	case !n.Vouches:
		return finding("state", health.Wait, "%s", n.Why)
	}
	return nil
}

// adviseClock finds a clock that is off.
func adviseClock(off time.Duration, set *health.Redis) []health.Finding {
	if off == 0 {
		return nil
	}
	return finding("clock", health.Fix, "its clock is %v from the median of all: set it right, at %v apart votes are lost", off.Round(time.Millisecond), set.Grace/2)
}

// adviseLatency finds nodes that may soon time out.
func adviseLatency(n health.Node, set *health.Redis) []health.Finding {
	if n.RTT <= set.Timeout/4 {
		return nil
	}
	return finding("latency", health.Fix, "it answers in %v at best, and counts as down after redis.node_timeout %v: raise that, or move the node nearer",
		n.RTT.Round(time.Millisecond), set.Timeout)
}

// fullShare is the share of maxmemory above which a node counts as nearly full: time to act
// is left.
const fullShare = 0.8

// adviseMemory finds nodes that will soon refuse writes.
func adviseMemory(n health.Node) []health.Finding {
	if n.MaxMemory == 0 || float64(n.UsedMemory) < fullShare*float64(n.MaxMemory) {
		return nil
	}
	return finding("memory", health.Fix, "it has used %d%% of its maxmemory; at 100%% it refuses every claim (OOM): raise maxmemory, or check what else is stored there", 100*n.UsedMemory/n.MaxMemory)
}

// adviseData says what a restart, a takeover or an eviction of keys would delete, and what that costs.
func adviseData(n health.Node, set *health.Redis, nodes int, oneStore bool) []health.Finding {
	if !n.Reachable || n.Embedded {
		return nil
	}
	var found []health.Finding
	warnings := n.Warnings // of eviction, then of replicas
	if strings.HasPrefix(n.MaxmemoryPolicy, "volatile-") {
		found, warnings = finding("eviction", health.Fix, "%s", warnings[0]), warnings[1:]
	}
	switch {
	case len(warnings) > 0:
		found = append(found, finding("replicas", health.Fix, "%s", warnings[0])...)
	case !oneStore:
	case set.Durable:
		found = append(found, finding("replicas", health.Note, "redis.durable says that a server that takes its place has everything that it acknowledged: this is not checked")...)
	case set.Copies > 0:
		found = append(found, finding("replicas", health.Note, "a claim counts when all %d replicas have it: no tick runs twice, even if one of them takes its place while it still runs. After that no tick starts for the restart_grace of %v", set.Copies, set.Grace)...)
	default:
		found = append(found, finding("replicas", health.Note, "it has no replica. If another server takes its place, no tick starts for the restart_grace of %v. No tick runs twice if this server is silent by then", set.Grace)...)
	}
	loses, level := crashLoses(n, oneStore)
	switch {
	case set.Durable && n.Persistence == "aof" && n.Fsync == "":
		return append(found, finding("persistence", health.Note, "redis.durable needs appendfsync always, which cannot be read here: make sure of it")...)
	case set.Durable && n.Fsync != "always":
		return append(found, finding("persistence", health.Fix, "redis.durable says that a restart loses nothing, but a crash loses %s. A tick could run twice: set appendonly yes and appendfsync always, or redis.durable: false", loses)...)
	case set.Durable && n.Replicas > 0 && nodes > 1:
		found = append(found, finding("replicas", health.Fix, "it has replicas: promoting one forgets what had not reached it, while redis.durable says that nothing is ever lost; a tick could run twice. Set redis.durable: false, or give up the failover")...)
	}
	if loses == "" {
		return found
	}
	return append(found, finding("persistence", level, "a crash loses %s. Restarted, it abstains for the restart_grace of %v, so no tick runs twice", loses, set.Grace)...)
}

// crashLoses describes what the node loses in a crash, "" for nothing.
func crashLoses(n health.Node, oneStore bool) (string, health.Level) {
	switch {
	case n.Persistence == "none" && oneStore:
		return "all it holds; back before another server takes its place, it empties its replicas, too; set appendonly yes", health.Fix
	case n.Persistence == "none":
		return "all it holds: its part of the ledger is gone, and with a quorum of such nodes all of it; set appendonly yes", health.Fix
	case n.Persistence == "rdb":
		return fmt.Sprintf("what came after its last snapshot, %s writes by now, and that part of the ledger; appendonly yes loses less", cmp.Or(n.Unsaved, "no")), health.Note
	case n.Persistence == "aof" && n.Fsync == "everysec":
		return "its last second (appendfsync everysec)", health.Note
	case n.Persistence == "aof" && n.Fsync == "no":
		return "what the system had not written to disk yet (appendfsync no)", health.Note
	case n.Persistence == "aof" && n.Fsync == "":
		return "its last second unless appendfsync is always, which cannot be read here (+config|get for the user of this command shows it)", health.Note
	}
	return "", health.Note
}
