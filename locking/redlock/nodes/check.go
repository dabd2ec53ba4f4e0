package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Checkup is what Check found of the nodes.
type Checkup struct {
	Nodes []Condition
	// Local is what is wrong with the machine that checks.
	Local []Finding
	// Next is the node to restart next, the one that has vouched longest; empty
	// while no node may be restarted without losing ticks.
	Next string
	// NextAt is when a node may be restarted at the earliest, by the local
	// clock; zero if one may be now, or if it is not only a matter of time.
	NextAt time.Time
}

// A Condition is what Check found of a node.
type Condition struct {
	Status
	// Fsync is the node's appendfsync, empty if it cannot be read.
	Fsync string
	// MaxMemory is the node's limit in bytes, 0 if it has none, and UsedMemory
	// what it has used of it.
	MaxMemory, UsedMemory int64
	// MayRestart tells whether a quorum of the others vouches.
	MayRestart bool
	Findings   []Finding
}

// A Finding is something that will cost votes, memory or ticks, in words that say
// what to do.
type Finding struct {
	Topic string // state, clock, persistence, eviction, memory, latency, replicas
	Level Level
	Text  string
}

// A Level says what a Finding asks for.
type Level int

// Levels of a Finding.
const (
	Note Level = iota // it is as it should be, and good to know
	Wait              // it passes by itself
	Mend              // somebody should mend it
)

// String returns the level in lower case.
func (l Level) String() string { return [...]string{"note", "wait", "mend"}[l] }

// Level returns the gravest level of the findings.
func (n Condition) Level() Level {
	worst := Note
	for _, f := range n.Findings {
		worst = max(worst, f.Level)
	}
	return worst
}

// Level returns the gravest level of all findings.
func (c Checkup) Level() Level {
	worst := Condition{Findings: c.Local}.Level()
	for _, n := range c.Nodes {
		worst = max(worst, n.Level())
	}
	return worst
}

// rounds is how often Check asks each node for the time; the best answer counts.
const rounds = 5

// Check examines all nodes and judges them: what a restart would cost, what will
// not last, whose clock stands apart, and which node may be restarted. Like
// Inspect it changes nothing.
func (s *Set) Check(ctx context.Context) Checkup {
	views := s.examine(ctx)
	for range rounds {
		each(s.nodes, func(n *Node) Reply { return n.Call(ctx, s.rules.peek, nil) })
	}
	fsync := each(s.nodes, func(n *Node) string { return n.setting(ctx, "appendfsync") })
	apart := skews(s.Offsets(), s.cfg.Grace/4)
	var c Checkup
	for i, v := range views {
		n := Condition{
			Status: v.status(), Fsync: fsync[i],
			MaxMemory: v.info.number("maxmemory"), UsedMemory: v.info.number("used_memory"),
		}
		if best, ok := v.node.clock.best(); ok {
			n.RTT, n.Offset = best.rtt, best.offset
		}
		n.Findings = slices.Concat(n.judgeState(), s.judgeClock(apart, n.Name), n.judgeData(s, v.info), n.judgeMemory(), n.judgeLatency(s))
		c.Nodes = append(c.Nodes, n)
	}
	c.Local = s.judgeClock(apart, "")
	for i := range c.Nodes {
		c.Nodes[i].MayRestart = c.vouching(c.Nodes[i].Name) >= s.Quorum()
	}
	c.Next, c.NextAt = c.next(s.Quorum())
	return c
}

// vouching counts the nodes that vote now, besides the named one.
func (c Checkup) vouching(besides string) int {
	count := 0
	for _, n := range c.Nodes {
		if n.Vouches && n.Err == nil && n.Name != besides {
			count++
		}
	}
	return count
}

// next chooses the node to restart next, or tells from when on one may be.
func (c Checkup) next(quorum int) (string, time.Time) {
	var vouch []Condition
	var later []time.Time
	for _, n := range c.Nodes {
		switch {
		case n.Err != nil:
		case n.Vouches:
			vouch = append(vouch, n)
		case !n.VouchesAt.IsZero():
			later = append(later, n.VouchesAt)
		}
	}
	if len(vouch) > quorum {
		longest := slices.MinFunc(vouch, func(a, b Condition) int { return a.Since.Compare(b.Since) })
		return longest.Name, time.Time{}
	}
	slices.SortFunc(later, time.Time.Compare)
	if missing := quorum + 1 - len(vouch); missing <= len(later) {
		return "", later[missing-1]
	}
	return "", time.Time{}
}

// judgeState says what keeps the node from voting, if anything does.
func (n Condition) judgeState() []Finding {
	switch {
	case !n.Reachable:
		return []Finding{{"state", Mend, "it does not answer (" + n.Err.Error() + "): start it, or replace it"}}
	case n.Blank && !errors.Is(n.Err, locking.ErrRefused):
		return []Finding{{"state", Mend, "it is blank: a replica formats it when it may, see the replicas' logs; new nodes are declared with quorate nodes init"}}
	case n.Err != nil:
		return []Finding{{"state", Mend, bare(n.Name, n.Err)}}
	case !n.Vouches:
		return []Finding{{"state", Wait, n.Why}}
	}
	return nil
}

// judgeClock picks the finding on one clock, which belongs to a node or, without
// a name, to this machine.
func (s *Set) judgeClock(apart []skew, name string) []Finding {
	for _, c := range apart {
		if c.who == name {
			return []Finding{{"clock", Mend, fmt.Sprintf("its clock is %v from the median of all: set it right, at %v apart votes are lost",
				c.by.Round(time.Millisecond), s.cfg.Grace/2)}}
		}
	}
	return nil
}

// judgeLatency finds nodes that will run into the timeout before long.
func (n Condition) judgeLatency(s *Set) []Finding {
	if n.RTT <= s.cfg.Timeout/4 {
		return nil
	}
	return []Finding{{"latency", Mend, fmt.Sprintf("it answers in %v at best, and counts as down after redis.node_timeout %v: raise that, or move the node nearer",
		n.RTT.Round(time.Millisecond), s.cfg.Timeout)}}
}

// full is the share of maxmemory from which on more is wanted.
const full = 0.8

// judgeMemory finds nodes that will refuse writes before long.
func (n Condition) judgeMemory() []Finding {
	if n.MaxMemory == 0 || float64(n.UsedMemory) < full*float64(n.MaxMemory) {
		return nil
	}
	return []Finding{{"memory", Mend, fmt.Sprintf("it has used %d%% of its maxmemory; at 100%% it refuses every claim (OOM): raise maxmemory, or find out what else lives there", 100*n.UsedMemory/n.MaxMemory)}}
}

// setting reads a line of the server's configuration, "" where it is not told:
// the user of the replicas need not have CONFIG, and managed servers deny it.
func (n *Node) setting(ctx context.Context, name string) string {
	w, ok := n.transport.(*wire)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, n.set.cfg.Timeout)
	defer cancel()
	values, err := w.client.ConfigGet(ctx, name).Result()
	if err != nil {
		return ""
	}
	return values[name]
}

// Answered returns locking.ErrNoQuorum unless that many nodes answered.
func (c Checkup) Answered(quorum int) error {
	answered := 0
	for _, n := range c.Nodes {
		if n.Reachable {
			answered++
		}
	}
	if answered >= quorum {
		return nil
	}
	return fmt.Errorf("%w: %d of %d; start the others", locking.ErrNoQuorum, answered, len(c.Nodes))
}
