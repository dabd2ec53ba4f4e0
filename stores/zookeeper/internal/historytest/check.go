package historytest

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// A Verdict is what a history shows of ZooKeeper.
type Verdict struct {
	Calls, Acknowledged, Unknown, Reads int

	// Deposed are reads after a sync that lacked an acknowledged write, while a later leader had
	// answered already. ZooKeeper allows them: sync asks no majority, so a leader that was deposed,
	// and does not know it, may answer.
	Deposed int

	Broken []Breach // in the order in which they show
}

// A Breach is two calls of which ZooKeeper promises that they cannot both be.
type Breach struct {
	Rule          string
	Path          string // empty: of no node
	First, Second *Call  // First may be nil: there is no call that it needs
}

// Shows is when the second of the two answers came.
func (b Breach) Shows() time.Time {
	at := b.Second.Answered
	if b.First != nil {
		at = max(at, b.First.Answered)
	}
	return time.Unix(0, at)
}

// The rules. The names in brackets are those of ZooKeeper's pages:
//
//	[guide]     Programmer's Guide, "Consistency Guarantees", "Time in ZooKeeper" and "ZNodes"
//	[internals] Internals, "Consistency Guarantees" and "Guarantees, Properties, and Definitions"
const (
	oneOrder    = "writes are linearizable, in the order of their zxids"                                  // [internals]
	forward     = "a session never reads backwards, and its calls are done in order"                      // [guide] sequential consistency, single system image
	afterSync   = "a read after sync has all that was acknowledged before, unless its leader was deposed" // [internals] which names ZOOKEEPER-1675
	conditional = "a conditional write needs the version, or the node, that it names"                     // [guide] ZNodes: version numbers
	versionOnce = "each version of a node is written once, by one set"                                    // [guide] Time in ZooKeeper
	kept        = "what was acknowledged or read is never undone"                                         // [guide] reliability, and its corollaries
	written     = "what is read was written, by a call that did not fail"                                 // [guide] atomicity
)

// Judge merges the calls of all who used an ensemble since it was empty, and says what they show.
// No breach means that ZooKeeper kept its promises, and another program is to blame for what went wrong.
//
// It accepts each history that ZooKeeper may give: a write without an answer may have happened, at
// any time since it was sent, or not. So a node that such a write created or deleted may be there or
// not, for the rules [conditional] and [kept]. These it cannot see:
//
//   - a call that failed although it should have succeeded
//   - which children a node has: it compares when they changed (pzxid)
//   - a write that was lost, of a node that nobody reads or writes later; each transaction of the
//     adapter sets the node life, so the next one shows it
//   - whether a stale read after sync was of the leader that was deposed, or of another server:
//     both are counted as [Verdict.Deposed]
//   - sessions that move to another server, ACLs, watches and ephemeral nodes: the adapter has none
//   - a step of the machine's clock, which it takes for an order
func Judge(calls []*Call) Verdict {
	c := &checker{unknown: map[string][]*Call{}, containers: map[string]bool{}}
	for _, call := range calls {
		c.Calls++
		switch {
		case call.Ops[0].Kind == Sync:
		case !call.writes():
			c.Reads++
		case call.Answered == 0:
			c.Unknown++
		case call.Err == 0:
			c.Acknowledged++
			c.writes = append(c.writes, call)
		}
		for _, o := range call.Ops {
			if call.Answered == 0 {
				c.unknown[o.Path] = append(c.unknown[o.Path], call)
			}
			c.containers[o.Path] = c.containers[o.Path] || o.Kind == Container
		}
	}
	slices.SortStableFunc(c.writes, func(a, b *Call) int { return cmp.Compare(a.Zxid, b.Zxid) })
	c.order()
	c.sessions(calls)
	c.conditions()
	c.versions(calls)
	c.reads(calls)
	slices.SortStableFunc(c.Broken, func(a, b Breach) int { return a.Shows().Compare(b.Shows()) })
	return c.Verdict
}

type checker struct {
	Verdict
	writes     []*Call            // acknowledged, in the order of their zxids
	unknown    map[string][]*Call // without an answer, by the paths they name
	containers map[string]bool    // ZooKeeper deletes these by itself
}

func (c *checker) broke(rule, path string, first, second *Call) {
	c.Broken = append(c.Broken, Breach{rule, path, first, second})
}

// may reports whether a call without an answer can have done one of these to a node before another
// call was answered.
func (c *checker) may(path string, by *Call, kinds ...Kind) bool {
	return slices.ContainsFunc(c.unknown[path], func(u *Call) bool {
		return u.Sent < by.Answered && slices.ContainsFunc(u.Ops, func(o Op) bool { return o.Path == path && slices.Contains(kinds, o.Kind) })
	})
}

// order: a write that was sent after another was answered has a larger zxid.
func (c *checker) order() {
	var latest *Call // sent, of those with smaller zxids
	for i, w := range c.writes {
		switch {
		case i > 0 && c.writes[i-1].Zxid == w.Zxid:
			c.broke(oneOrder, "", c.writes[i-1], w)
		case i > 0 && w.Answered < latest.Sent:
			c.broke(oneOrder, "", w, latest)
		}
		if latest == nil || w.Sent > latest.Sent {
			latest = w
		}
	}
}

// sessions: the zxids of answers on one connection never fall, and after a sync none is below that of
// a write which was answered before.
func (c *checker) sessions(calls []*Call) {
	answered := slices.SortedFunc(slices.Values(c.writes), func(a, b *Call) int { return cmp.Compare(a.Answered, b.Answered) })
	highest := slices.Clone(answered) // of those up to each
	for i := 1; i < len(highest); i++ {
		if highest[i-1].Zxid > highest[i].Zxid {
			highest[i] = highest[i-1]
		}
	}
	began := map[int64]int64{} // when each leader was first heard of
	for _, call := range calls {
		if first, ok := began[call.leader()]; call.Answered > 0 && (!ok || call.Answered < first) {
			began[call.leader()] = call.Answered
		}
	}
	last, floor := map[string]*Call{}, map[string]*Call{}
	for _, call := range calls {
		if call.Answered == 0 || call.Zxid <= 0 {
			continue
		}
		if l := last[call.Conn]; l != nil && call.Zxid < l.Zxid {
			c.broke(forward, "", l, call)
		}
		last[call.Conn] = call
		if call.Ops[0].Kind == Sync {
			if n := sort.Search(len(answered), func(i int) bool { return answered[i].Answered >= call.Sent }); n > 0 && call.Err == 0 {
				floor[call.Conn] = highest[n-1]
			}
			continue
		}
		if f := floor[call.Conn]; f == nil || f.Zxid <= call.Zxid || call.writes() {
			continue
		} else if call.deposed(began) {
			c.Deposed++
		} else {
			c.broke(afterSync, "", f, call)
		}
	}
}

// leader is the number of the leader that made the last write which the call knows.
func (c *Call) leader() int64 { return c.Zxid >> 32 }

// deposed reports whether a later leader was heard of before a call was answered.
func (c *Call) deposed(began map[int64]int64) bool {
	for leader, at := range began {
		if leader > c.leader() && at < c.Answered {
			return true
		}
	}
	return false
}

// conditions makes all acknowledged writes in order.
func (c *checker) conditions() {
	type node struct {
		last    *Call // that has created, set or deleted it
		there   bool
		version int32
	}
	nodes := map[string]node{}
	for _, w := range c.writes {
		for _, o := range w.Ops {
			n := nodes[o.Path]
			creates := o.Kind == Create || o.Kind == Container
			switch {
			case creates && n.there && !c.containers[o.Path] && !c.may(o.Path, w, Delete),
				!creates && !n.there && !c.may(o.Path, w, Create, Container),
				!creates && n.there && o.Expects >= 0 && o.Expects != n.version && !c.may(o.Path, w, Create, Set, Delete):
				c.broke(conditional, o.Path, n.last, w)
			}
			switch {
			case creates:
				n = node{w, true, 0}
			case o.Kind == Delete:
				n = node{w, false, 0}
			case o.Kind == Set && o.Stat != nil:
				n = node{w, true, o.Stat.Version}
			}
			nodes[o.Path] = n
		}
	}
}

// A sight is what a call tells of a node: it has written it, or read it.
type sight struct {
	call *Call
	path string
	hash string // empty: not told
	Stat
}

// sights of a node, in each call that was answered well.
func sights(calls []*Call) (list []sight) {
	for _, call := range calls {
		for _, o := range call.Ops {
			switch {
			case call.Answered == 0 || call.Err != 0:
			case o.Stat != nil:
				list = append(list, sight{call, o.Path, o.Hash, *o.Stat})
			case o.Kind == Create && !call.deletes(o.Path):
				list = append(list, sight{call, o.Path, o.Hash, Stat{Czxid: call.Zxid, Mzxid: call.Zxid, Pzxid: call.Zxid}})
			}
		}
	}
	return list
}

// versions: one version of a node has one zxid and one content, and grows with each set.
func (c *checker) versions(calls []*Call) {
	type node struct {
		path  string
		czxid int64
	}
	nodes := map[node][]sight{}
	for _, s := range sights(calls) {
		n := node{s.path, s.Czxid}
		nodes[n] = append(nodes[n], s)
	}
	for n, list := range nodes {
		slices.SortStableFunc(list, func(a, b sight) int {
			return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.call.Sent, b.call.Sent))
		})
		acknowledged := map[int32]bool{}
		for i, s := range list {
			if i > 0 {
				l := list[i-1]
				same := s.Version == l.Version
				if same != (s.Mzxid == l.Mzxid) || s.Mzxid < l.Mzxid || same && s.hash != l.hash && s.hash != "" && l.hash != "" {
					c.broke(versionOnce, n.path, l.call, s.call)
				}
			}
			if !s.call.writes() || c.containers[n.path] {
				continue
			}
			acknowledged[s.Version] = true
			mayBe := 0 // written by calls without an answer
			for _, u := range c.unknown[n.path] {
				if u.Sent < s.call.Answered && u.wrote(n.path, "") {
					mayBe++
				}
			}
			if int(s.Version)+1-len(acknowledged) > mayBe {
				c.broke(versionOnce, n.path, list[max(i-1, 0)].call, s.call)
			}
		}
	}
}

// A change of a node, or of its children, by a write that was acknowledged or whose data were read.
type change struct {
	zxid    int64
	removed bool
	call    *Call
}

// reads: each answer has what was written up to its zxid, and nothing else.
func (c *checker) reads(calls []*Call) {
	data, children := changes{}, changes{}
	byZxid := map[int64]*Call{}
	for _, w := range c.writes {
		byZxid[w.Zxid] = w
		for _, o := range w.Ops {
			if o.Kind == Check {
				continue
			}
			data.add(o.Path, change{w.Zxid, w.deletes(o.Path), w})
			if o.Kind != Set {
				children.add(o.Path[:max(strings.LastIndex(o.Path, "/"), 0)], change{w.Zxid, false, w})
			}
		}
	}
	all := sights(calls)
	for _, s := range all {
		data.add(s.path, change{s.Mzxid, false, s.call})
		children.add(s.path, change{s.Pzxid, false, s.call})
	}
	data.sort()
	children.sort()
	for _, s := range all {
		if s.call.writes() || s.path == "/" || strings.HasPrefix(s.path, "/zookeeper") { // ZooKeeper's own
			continue
		}
		if last := data.upTo(s.path, s.call.Zxid); last.zxid > s.Mzxid {
			c.broke(kept, s.path, last.call, s.call)
		}
		if last := children.upTo(s.path, s.call.Zxid); last.zxid > s.Pzxid {
			c.broke(kept, s.path, last.call, s.call)
		}
		if w, ok := byZxid[s.Mzxid]; ok && !w.wrote(s.path, s.hash) || !ok && !slices.ContainsFunc(c.unknown[s.path], func(u *Call) bool {
			return u.Sent < s.call.Answered && u.wrote(s.path, s.hash)
		}) {
			c.broke(written, s.path, w, s.call)
		}
	}
	for _, call := range calls {
		path := call.Ops[0].Path
		if call.writes() || call.Answered == 0 || call.Err != noNode || c.containers[path] || c.may(path, call, Delete) {
			continue
		}
		last := data.upTo(path, call.Zxid)
		later := slices.ContainsFunc(data[path], func(d change) bool { return d.removed && d.zxid > last.zxid })
		if last.call != nil && !last.removed && !later {
			c.broke(kept, path, last.call, call)
		}
	}
}

// noNode is ZooKeeper's code for a node that does not exist.
const noNode = -101

// changes are those of each path.
type changes map[string][]change

func (l changes) add(path string, c change) { l[path] = append(l[path], c) }

func (l changes) sort() {
	for _, list := range l {
		slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(a.zxid, b.zxid) })
	}
}

// upTo is the last change of a path up to a zxid.
func (l changes) upTo(path string, zxid int64) change {
	list := l[path]
	n := sort.Search(len(list), func(i int) bool { return list[i].zxid > zxid })
	if n == 0 {
		return change{}
	}
	return list[n-1]
}

// writes reports whether a call may change anything.
func (c *Call) writes() bool {
	switch c.Ops[0].Kind {
	case Get, Exists, Children, Sync:
		return false
	}
	return true
}

// deletes reports whether a call leaves no node.
func (c *Call) deletes(path string) (gone bool) {
	for _, o := range c.Ops {
		if o.Path == path && o.Kind != Check {
			gone = o.Kind == Delete
		}
	}
	return gone
}

// wrote reports whether a call writes data with this hash; an empty one is any.
func (c *Call) wrote(path, hash string) bool {
	return slices.ContainsFunc(c.Ops, func(o Op) bool {
		return o.Path == path && (o.Kind == Create || o.Kind == Container || o.Kind == Set) && (hash == "" || o.Hash == hash)
	})
}

// String says all that was asked and answered of the path.
func (b Breach) String() string {
	return fmt.Sprintf("broken: %s%s\n\t%s\n\t%s", b.Rule, strings.TrimSuffix(": "+b.Path, ": "), b.First.about(b.Path), b.Second.about(b.Path))
}

func (c *Call) about(path string) string {
	if c == nil {
		return "no call that it needs"
	}
	const clock = "15:04:05.000000"
	answered := "no answer"
	if c.Answered != 0 {
		answered = fmt.Sprintf("answered %s, zxid %#x, code %d", time.Unix(0, c.Answered).Format(clock), c.Zxid, c.Err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s #%d, sent %s, %s:", c.Conn, c.Xid, time.Unix(0, c.Sent).Format(clock), answered)
	for _, o := range c.Ops {
		if path == "" || o.Path == path {
			fmt.Fprintf(&text, " %s %s, expects %d, data %s", o.Kind, o.Path, o.Expects, o.Hash)
			if o.Stat != nil {
				fmt.Fprintf(&text, ", stat %+v", *o.Stat)
			}
		}
	}
	return text.String()
}

// String is one line of figures.
func (v Verdict) String() string {
	return fmt.Sprintf("ZooKeeper's history: %d calls, %d writes acknowledged, %d unknown, %d reads (%d of a deposed leader), broken: %d",
		v.Calls, v.Acknowledged, v.Unknown, v.Reads, v.Deposed, len(v.Broken))
}
