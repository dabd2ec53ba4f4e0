package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/nodetest"
	"github.com/quorate/quorate/dev/testkit/nodetest/difftest"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// The scripts of the ledger and the plain model of a node answer alike and store
// alike.
func TestScriptsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	bench := difftest.New(t)
	lua := newRules()
	bench.Check(t, func(rt *rapid.T) map[string]func(*rapid.T) {
		bench.Join(rt)
		d := differ{bench}
		return map[string]func(*rapid.T){
			"record":     func(rt *rapid.T) { d.record(rt, lua.record) },
			"run":        d.run,
			"run too":    d.run,
			"record too": func(rt *rapid.T) { d.record(rt, lua.record) },
			"read":       func(rt *rapid.T) { d.read(rt, lua.read) },
			"read too":   func(rt *rapid.T) { d.read(rt, lua.read) },
			"store":      func(rt *rapid.T) { d.store(rt, lua.store) },
			"store too":  func(rt *rapid.T) { d.store(rt, lua.store) },
			"log":        func(rt *rapid.T) { d.call(rt, lua.log, "1", []string{logsKey}, logText(rt)) },
			"announce":   func(rt *rapid.T) { d.announce(rt, lua.announce) },
			"leave":      func(rt *rapid.T) { d.leave(rt, lua.leave) },
			"left":       func(rt *rapid.T) { d.call(rt, lua.left, "1", []string{leftKey}, leftFor) },
			"unpublish":  func(rt *rapid.T) { d.call(rt, lua.unpublish, "1", []string{jobsKey}, replicaIDs(rt)...) },
			"publish":    func(rt *rapid.T) { d.call(rt, lua.publish, "0", []string{jobsKey}, publications(rt)...) },
			"published":  func(rt *rapid.T) { d.call(rt, lua.published, "1", []string{jobsKey}, window(rt), "0", "10") },
			"lock":       d.lock, "claim": d.claim, "time": bench.Advances, "restart": d.restart,
		}
	})
}

const (
	runsKey   = "q:job:j:runs"
	notesKey  = "q:job:j:notes"
	logsKey   = "q:job:j:logs"
	lockKey   = "q:job:j:lock"
	fenceKey  = "q:job:j:fence"
	jobKey    = "q:job:j:"
	rosterKey = "q:replicas"
	leftKey   = "q:left"
	jobsKey   = "q:jobs"
)

type differ struct{ *difftest.Bench }

func (d differ) call(rt *rapid.T, script *membership.Script, sealed string, keys []string, own ...string) {
	head := difftest.Ours()
	head.Sealed = sealed
	d.Call(rt, script, append([]string{difftest.NodeKey}, keys...), head.Draw(rt).Args(own...), func(wire []string) {
		switch name := script.Name(); { // a hash has no order
		case name == "announce" && len(wire) > 3:
			slices.Sort(wire[3:])
		case name == "published" && len(wire) > 4:
			sortPairs(wire[4:])
		}
	})
}

func tickText(rt *rapid.T) string {
	return strconv.Itoa(1_800_000_000_000 + 1000*rapid.IntRange(0, 3).Draw(rt, "tick"))
}

func (d differ) record(rt *rapid.T, script *membership.Script) {
	stream := rapid.SampledFrom([]string{"Nschedule|", "Nmanual|"}).Draw(rt, "stream")
	why := rapid.SampledFrom([]string{"a", "b{}", "bc|d", `b{"outcome":"skipped"}`, `b{"outcome":"missed"}`, `b{"outcome":"skipped","stale":1}`}).Draw(rt, "why")
	keep := rapid.SampledFrom([]string{"3", "3", "5", "1", "0", "x"}).Draw(rt, "keep")
	tick := tickText(rt)
	if rapid.IntRange(0, 20).Draw(rt, "odd tick") == 0 {
		tick = rapid.SampledFrom([]string{"", "abc", "9000000000000"}).Draw(rt, "tick")
	}
	d.call(rt, script, "0", []string{notesKey}, tick, stream, stream+why, keep)
}

// run adds the record of a run, as claims do.
func (d differ) run(rt *rapid.T) {
	text := tickText(rt)
	at, err := strconv.ParseFloat(text, 64)
	if err != nil {
		rt.Fatal(err)
	}
	kind := rapid.SampledFrom([]string{"F", "L", "S"}).Draw(rt, "kind")
	note := "schedule|" + text + rapid.SampledFrom([]string{"", `{"outcome":"succeeded"}`, `{"outcome":"failed"}`, `{"outcome":"lease_lost","stale":1}`, `{"outcome":"cancelled"}`}).Draw(rt, "end")
	if kind == "S" {
		note = packed(text, "v", rapid.SampledFrom([]string{"0", "1"}).Draw(rt, "overlaps"))
	}
	r := protocol.Record{TickKey: protocol.TickKey{Tick: int64(at)}, Note: note, Ended: map[string]protocol.Code{"F": protocol.OK, "L": protocol.Late}[kind]}
	d.Do(rt, func(n *nodetest.Node) {
		j := n.Jobs[jobKey]
		have := append(slices.DeleteFunc(slices.Clone(j.Runs.List), func(o protocol.Record) bool { return o == r }), r)
		slices.SortFunc(have, func(a, b protocol.Record) int {
			return cmp.Or(cmp.Compare(a.Tick, b.Tick), cmp.Compare(a.Kind(), b.Kind()), cmp.Compare(a.Note, b.Note))
		})
		j.Runs.List = have
		n.Jobs[jobKey] = j
	}, "ZADD", runsKey, text, kind+note)
}

// packed is a claim of the schedule as COMMIT stores it.
func packed(tick, v, overlaps string) string {
	return tick + " 7 " + v + " 0 1 " + overlaps + " schedule h|{}"
}

// read asks for the job, and perhaps for one more that has nothing.
func (d differ) read(rt *rapid.T, script *membership.Script) {
	var keys, own []string
	for i := range rapid.IntRange(1, 2).Draw(rt, "jobs") {
		from := rapid.SampledFrom([]string{"", "("}).Draw(rt, "before") + tickText(rt)
		if rapid.Bool().Draw(rt, "all") {
			from = "+inf"
		}
		to := tickText(rt)
		if rapid.Bool().Draw(rt, "to the end") {
			to = "0"
		}
		most := rapid.SampledFrom([]string{"0", "1", "2", "10"}).Draw(rt, "most")
		if other := rapid.Bool().Draw(rt, "another job"); other && i > 0 {
			keys = append(keys, "q:job:k:runs", "q:job:k:notes", "q:job:k:lock", "q:job:k:fence")
		} else {
			keys = append(keys, runsKey, notesKey, lockKey, fenceKey)
		}
		own = append(own, from, to, most, rapid.SampledFrom([]string{"0", "1"}).Draw(rt, "search"))
	}
	d.call(rt, script, "1", keys, own...)
}

// logText names a run.
func logText(rt *rapid.T) string {
	return tickText(rt) + "." + rapid.SampledFrom([]string{"7", "8", "10"}).Draw(rt, "token")
}

// store keeps none, one or two logs.
func (d differ) store(rt *rapid.T, script *membership.Script) {
	keep := rapid.SampledFrom([]string{"3", "5", "1", "0"}).Draw(rt, "keep")
	age := int64(0)
	if rapid.Bool().Draw(rt, "by age") {
		age = max(0, d.Now().UnixMilli()-1_800_000_000_000-rapid.SampledFrom([]int64{0, 1000, 1001, 2000, 5000}).Draw(rt, "earliest"))
	}
	own := []string{keep, strconv.FormatInt(age, 10), rapid.SampledFrom([]string{"0", "4", "10", "1000"}).Draw(rt, "room")}
	for range rapid.IntRange(0, 2).Draw(rt, "logs") {
		own = append(own, logText(rt), rapid.SampledFrom([]string{"", "one", "two\nlines", "é"}).Draw(rt, "log"))
	}
	d.call(rt, script, "1", []string{runsKey, notesKey, logsKey}, own...)
}

func replicaID(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "id")
}

func (d differ) announce(rt *rapid.T, script *membership.Script) {
	own := []string{
		window(rt), strconv.FormatInt((4 * difftest.Leap).Milliseconds(), 10),
		rapid.SampledFrom([]string{"0", "1", "2", "100"}).Draw(rt, "silent ones kept"), rapid.SampledFrom([]string{"0", "1"}).Draw(rt, "list them"),
	}
	d.call(rt, script, "0", []string{rosterKey}, append(own, announcements(rt)...)...)
}

// window is how long announcements count.
func window(rt *rapid.T) string {
	less := rapid.SampledFrom([]int64{0, 1, 60_000}).Draw(rt, "less")
	return strconv.FormatInt((2*difftest.Leap).Milliseconds()-less, 10)
}

// publications are announcements with accounts, most of them.
func publications(rt *rapid.T) []string {
	list := announcements(rt)
	for i := 1; i < len(list); i += 2 {
		var times []string
		for range rapid.SampledFrom([]int{4, 4, 4, 4, 3, 5}).Draw(rt, "times") {
			times = append(times, rapid.SampledFrom([]string{"0", "1", "1800000000000", "9000000000000", "007", "-1"}).Draw(rt, "time"))
		}
		list[i] = strings.Join(times, ",") + "|" + list[i]
	}
	return list
}

// announcements are those of none, one or two replicas.
func announcements(rt *rapid.T) []string {
	var list []string
	for range rapid.IntRange(0, 2).Draw(rt, "replicas") {
		list = append(list, replicaID(rt), rapid.SampledFrom([]string{`{"v":1}`, "", "a|b\nc"}).Draw(rt, "says"))
	}
	return list
}

// leftFor is how long those that left are remembered. It is no multiple of a Leap.
var leftFor = strconv.FormatInt((difftest.Leap + difftest.Step).Milliseconds(), 10)

func (d differ) leave(rt *rapid.T, script *membership.Script) {
	says := rapid.SampledFrom([]string{`{"v":1}`, `{"v":2}`, "", "a|b\nc"}).Draw(rt, "says")
	most := rapid.SampledFrom([]string{"0", "1", "2", "100"}).Draw(rt, "most")
	d.call(rt, script, "1", []string{rosterKey, leftKey}, replicaID(rt), says, leftFor, most)
}

func replicaIDs(rt *rapid.T) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2).Draw(rt, "ids")
}

// sortPairs orders pairs of age and text.
func sortPairs(list []string) {
	pairs := slices.Collect(slices.Chunk(slices.Clone(list), 2))
	slices.SortFunc(pairs, slices.Compare)
	copy(list, slices.Concat(pairs...))
}

// lock sets or frees the lock, or that of a tick, that read tells of.
func (d differ) lock(rt *rapid.T) {
	tick := tickText(rt)
	at, _ := strconv.ParseInt(tick, 10, 64)
	place, key := protocol.TickKey{Stream: "schedule", Tick: at}, lockKey
	lock := protocol.Lease{
		Owner: rapid.SampledFrom([]string{"v", "w"}).Draw(rt, "v"), Committed: rapid.Bool().Draw(rt, "committed"),
		Until: d.Now().Add(difftest.TTL).UnixMilli(),
	}
	ofTick, free := rapid.Bool().Draw(rt, "of a tick"), rapid.IntRange(0, 2).Draw(rt, "free") == 0
	if ofTick {
		key += ":schedule:" + tick
	}
	command := []any{"SET", key, nodetest.Value(lock), "PX", difftest.TTL.Milliseconds()}
	if free {
		command, lock = []any{"DEL", key}, protocol.Lease{}
	}
	d.Do(rt, func(n *nodetest.Node) {
		j := n.Jobs[jobKey]
		if ofTick {
			j.TickLocks = maps.Clone(j.TickLocks)
			if j.TickLocks == nil {
				j.TickLocks = map[protocol.TickKey]protocol.Lease{}
			}
			j.TickLocks[place] = lock
		} else {
			j.Lock = lock
		}
		n.Jobs[jobKey] = j
	}, command...)
}

// claim stores a claim of the schedule that has not ended, or has.
func (d differ) claim(rt *rapid.T) {
	tick, state := tickText(rt), rapid.SampledFrom([]string{"-", "-", "V", "O"}).Draw(rt, "state")
	at, _ := strconv.ParseInt(tick, 10, 64)
	overlaps := rapid.SampledFrom([]string{"0", "1"}).Draw(rt, "overlaps")
	c := protocol.Claim{Tick: at, Token: 7, Owner: "v", Attempt: 1, Overlaps: overlaps == "1", Note: packed(tick, "v", overlaps), Void: state == "V"}
	if state == "O" {
		c.Ended = protocol.OK
	}
	d.Do(rt, func(n *nodetest.Node) {
		j := n.Jobs[jobKey]
		j.Fence, j.Streams = 7, map[string]protocol.Claim{"schedule": c}
		n.Jobs[jobKey] = j
	}, "MSET", fenceKey, "7 - - schedule", jobKey+"claim.schedule", state+c.Note)
}

func (d differ) restart(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "restart") > 0 {
		return
	}
	d.Loses(rt)
	if d.Model().Member == nil {
		d.Join(rt)
	}
}
