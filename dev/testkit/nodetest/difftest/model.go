package difftest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/nodetest"
	"github.com/quorate/quorate/internal/store/protocol"
)

// Step is the precision for comparing the time left of a key. The tests avoid times
// near half a step.
const Step = 20_000 * time.Second

// stored returns all data of a model, in the form of a server.
func stored(s nodetest.State, now time.Time) []string {
	d := dump{now: float64(now.UnixMilli())}
	if s.Member != nil {
		d.member(*s.Member)
	}
	for key, job := range s.Jobs {
		d.job(key, job)
		d.runs(key+"runs", s.Runs(key+"runs"), "never")
	}
	for key, t := range s.Dead {
		d.text(key, cmp.Or(t.Reason, "1"), t.Until)
	}
	for key, notes := range s.Notes {
		d.runs(key, notes, "never")
	}
	for key, logs := range s.Logs {
		for name, log := range logs {
			d.field(key, name, log)
		}
	}
	for key, roster := range s.Rosters {
		for name, announced := range roster {
			d.field(key, name, announced)
		}
	}
	for key, l := range s.Left {
		if left := float64(l.Until) - d.now; left >= 0 {
			d.runs(key, l.List, strconv.Itoa(steps(left)))
		}
	}
	slices.Sort(d.lines)
	return d.lines
}

func score(tick float64) string { return strconv.FormatFloat(tick, 'f', 0, 64) }

type dump struct {
	now   float64
	lines []string
}

func (d *dump) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *dump) field(key, name, value string) {
	d.add("%s %s = %s runs out never", key, name, value)
}

// optional adds a field unless it is empty.
func (d *dump) optional(key, name, value string) {
	if value != "" {
		d.field(key, name, value)
	}
}

// text adds a value that expires.
func (d *dump) text(key, value string, until int64) {
	switch left := float64(until) - d.now; {
	case until == nodetest.Endless:
		d.add("%s = %s runs out never", key, value)
	case left >= 0:
		d.add("%s = %s runs out %d", key, value, steps(left))
	}
}

func (d *dump) runs(key string, runs []nodetest.Run, end string) {
	for _, r := range runs {
		d.add("score %s of %s %s runs out %s", score(r.Tick), key, r.Record, end)
	}
}

func steps(left float64) int { return int(math.Round(left / float64(Step.Milliseconds()))) }

func (d *dump) member(m nodetest.Member) {
	for name, value := range map[string]string{
		"run_id": m.RunID, "since": m.Since, "embedded": m.Embedded, "names": m.Names,
	} {
		d.field(NodeKey, name, value)
	}
	if m.Format != "" {
		d.field(NodeKey, "member", member(m))
	}
	for name, value := range map[string]string{
		"sealed_for": m.SealedFor, "sealed_names": m.SealedNames, "sealed_at": m.SealedAt,
		"gc_fence": m.GCFence, "gc_tick": m.GCTick,
	} {
		d.optional(NodeKey, name, value)
	}
	if m.Served {
		d.field(NodeKey, "served", "1")
	}
}

// job adds locks and claims. The fence names the tick of the open claim if its runs may
// overlap others.
func (d *dump) job(key string, job protocol.State) {
	if job.Lock.Owner != "" {
		d.text(key+"lock", nodetest.Value(job.Lock), job.Lock.Until)
	}
	for place, l := range job.TickLocks {
		d.text(fmt.Sprintf("%slock:%s:%d", key, place.Stream, place.Tick), nodetest.Value(l), l.Until)
	}
	if job.Marker > 0 {
		d.text(key+"beside", strconv.FormatInt(job.Marker, 10), job.Marker)
	}
	place := "-"
	for stream, c := range job.Streams {
		if c.Owner == job.Open && c.Overlaps {
			place = fmt.Sprintf("%s:%d", stream, c.Tick)
		}
		d.add("%sclaim.%s = %s%s runs out never", key, stream, nodetest.Letter(c), c.Note)
	}
	if job.Fence > 0 {
		streams := strings.Join(slices.Sorted(maps.Keys(job.Streams)), ",")
		d.add("%sfence = %d %s %s %s runs out never", key, job.Fence, cmp.Or(job.Open, "-"), place, streams)
	}
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// Steps makes a time left comparable: in ms, or negative without one.
func Steps(left string) string {
	n, err := strconv.ParseFloat(left, 64)
	if err != nil || n < 0 {
		return left
	}
	return strconv.Itoa(steps(n)) + " steps"
}

// Times of the cluster. Nothing ends within half a Step of a multiple of Leap, so a few
// ms never decide whether a key has expired.
const (
	Grace = 5 * Step
	TTL   = 4 * Step
	Leap  = 3 * Step
)

// A Head is the part of a request before the rule's own arguments; see header.lua.
type Head struct {
	Name, Members, Epoch, Grace, Format, Durable, Embedded, Sealed, TTL string
}

// Ours is the Head of a request of the cluster.
func Ours() Head {
	return Head{
		Name: "a:6379", Members: "hash", Epoch: "0", Grace: ms(Grace.Milliseconds()), Format: "2",
		Durable: "0", Embedded: "1", Sealed: "0", TTL: ms(TTL.Milliseconds()),
	}
}

// Draw returns a Head that is rarely wrong, and rarely durable.
func (h Head) Draw(t *rapid.T) Head {
	switch rapid.IntRange(0, 60).Draw(t, "head") {
	case 1:
		h.Durable = "1"
	case 2:
		h.Embedded = "0"
	case 3:
		h.Sealed = "1"
	case 4:
		h.Name = "b:6379"
	case 5:
		h.Members = "other"
	case 6:
		h.Epoch = "1"
	case 7:
		h.Grace = "7"
	case 8:
		h.Format = "3"
	case 9:
		h.TTL = h.Grace
	case 10:
		h.TTL = "soon"
	}
	return h
}

// Args returns the arguments of a request.
func (h Head) Args(own ...string) []string {
	var letters strings.Builder
	for _, flag := range [][2]string{{h.Durable, "d"}, {h.Embedded, "e"}, {h.Sealed, "s"}} {
		if flag[0] == "1" {
			letters.WriteString(flag[1])
		}
	}
	node := strings.Join([]string{h.Name, h.Members, h.Epoch, h.Grace, h.Format}, " ")
	return append([]string{node, h.Grace, letters.String(), h.TTL}, own...)
}

func ms(n int64) string { return strconv.FormatInt(n, 10) }

// Join makes all sides members of the cluster that never served.
func (b *Bench) Join(t T) {
	t.Helper()
	h := Ours()
	for _, s := range b.sides {
		m := nodetest.Member{
			Format: h.Format, Name: h.Name, Members: h.Members, Epoch: h.Epoch, Grace: h.Grace,
			RunID: s.runID, Since: "0", Embedded: bit(s.infoError != ""), Names: "a:6379 c:6379",
		}
		if s.infoError != "" {
			m.RunID = "embedded"
		}
		s.do(t, "HSET", NodeKey, "member", member(m), "run_id", m.RunID, "since", m.Since, "embedded", m.Embedded, "names", m.Names)
		s.model.Member = &m
	}
}

// member is the value that nodes compare requests with.
func member(m nodetest.Member) string {
	return strings.Join([]string{m.Name, m.Members, m.Epoch, m.Grace, m.Format}, " ")
}

// Antiquate converts the records of all sides to format 1, which had other fields.
func (b *Bench) Antiquate(t T) {
	t.Helper()
	b.Do(t, func(n *nodetest.Node) {
		if n.Member != nil {
			n.Member.Format, n.Member.Name, n.Member.Members, n.Member.Epoch, n.Member.Grace = "", "", "", "", ""
		}
	}, "HDEL", NodeKey, "member")
}

// Restart changes the stored run_id, as if the servers had been restarted.
func (b *Bench) Restart(t T) {
	t.Helper()
	for _, s := range b.sides {
		if s.model.Member == nil {
			continue // one side may have refused what made the other a member
		}
		s.do(t, "HSET", NodeKey, "run_id", "another")
		s.model.Member.RunID = "another"
	}
}
