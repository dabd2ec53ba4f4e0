package scripts_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/nodetest"
	"github.com/quorate/quorate/dev/testkit/nodetest/difftest"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
)

// The scripts and the rules answer alike and store alike, whatever is asked in whatever
// order: on a real server and an embedded one.
func TestScriptsAgreeWithTheRules(t *testing.T) {
	t.Parallel()
	set, bench := newSet(t), difftest.New(t)
	bench.Check(t, func(rt *rapid.T) map[string]func(*rapid.T) {
		bench.Join(rt)
		d := &differ{Bench: bench, set: set, ended: map[string]bool{}}
		return map[string]func(*rapid.T){
			"lock": d.lock, "lock too": d.lock, "look": d.look, "commit": d.commit, "commit too": d.commit, "extend": d.extend, "finish": d.finish,
			"claim": d.claim, "claim too": d.claim, "claim as well": d.claim, "extend too": d.extend, "finish too": d.finish,
			"void": d.void, "operator": d.operator, "list": d.list,
			"time": bench.Advances, "expire": d.expire, "expire too": d.expire,
			"trouble": d.trouble,
		}
	})
}

// call makes a request with a header that seldom is wrong.
func (d *differ) call(rt *rapid.T, script *membership.Script, sealed string, keys []string, own ...string) []string {
	head := difftest.Ours()
	head.Sealed = sealed
	return d.Call(rt, script, append([]string{difftest.NodeKey}, keys...), head.Draw(rt).Args(own...), smooth)
}

// about makes a request about a try.
func (d *differ) about(rt *rapid.T, script *membership.Script, sealed string, x try, own ...string) []string {
	tick := ""
	if x.Tick != 0 {
		tick = strconv.FormatInt(x.Tick, 10)
	}
	ttl := strconv.FormatInt(difftest.TTL.Milliseconds(), 10)
	return d.call(rt, script, sealed, d.keys(x), append([]string{x.Owner, x.Stream, tick, ttl, bit(x.Overlaps)}, own...)...)
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func (d *differ) lock(rt *rapid.T) {
	x := d.either(rt)
	d.about(rt, scripts.Lock, "0", x, bit(x.Mode != 0))
}

// look asks as nobody.
func (d *differ) look(rt *rapid.T) {
	x := d.try(rt)
	x.Owner = ""
	d.about(rt, scripts.Look, "0", x, bit(x.Mode != 0))
}

func (d *differ) commit(rt *rapid.T) { d.accept(rt, d.either(rt)) }

// claim is a commit that a node with a say accepts, unless the tick is closed or somebody
// else has the lock.
func (d *differ) claim(rt *rapid.T) { d.accept(rt, d.newTry(rt, true)) }

// accept asks for the claim. A client does not after it has asked for the end, unless
// that left a tombstone.
func (d *differ) accept(rt *rapid.T, x try) {
	if _, dead := d.Model().Dead[d.keys(x)[5]]; d.ended[x.Owner] && !dead {
		return
	}
	join := rapid.IntRange(0, 4).Draw(rt, "join") == 0
	d.about(rt, scripts.Commit, "0", x, bit(x.Mode != 0), strconv.FormatUint(x.Token, 10), strconv.Itoa(x.Attempt), bit(join), x.Pack(), keep(rt))
}

func (d *differ) extend(rt *rapid.T) { d.about(rt, scripts.Extend, "0", d.held(rt)) }

func (d *differ) finish(rt *rapid.T) {
	x := d.held(rt)
	d.ended[x.Owner] = true
	d.about(rt, scripts.Finish, "1", x, keep(rt), x.Pack(), x.finished(),
		bit(rapid.IntRange(0, 3).Draw(rt, "handover") == 0), bit(rapid.Bool().Draw(rt, "straggler")))
}

func (d *differ) void(rt *rapid.T) {
	x := d.held(rt)
	d.about(rt, scripts.Void, "0", x, x.Pack(), bit(rapid.Bool().Draw(rt, "straggler")))
}

// keep draws how many records to keep.
func keep(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"1", "2", "3", "3", "0"}).Draw(rt, "keep")
}

// operator takes a lock away, or forgets jobs, of which each may be running.
func (d *differ) operator(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "evict") == 0 {
		x := d.held(rt)
		keys := d.keys(x)
		d.call(rt, scripts.Evict, "0", []string{keys[0], keys[5]}, x.Owner, "no more of this")
		return
	}
	for _, job := range rapid.SampledFrom([][]string{{"j"}, {"k"}, {"j", "k"}, {"k", "j"}}).Draw(rt, "jobs") {
		if rapid.IntRange(0, 2).Draw(rt, "running") > 0 {
			d.dropTicks(rt, job)
			d.dropLock(rt, job)
		}
		d.call(rt, scripts.Forget, "0", scripts.ForgetKeys(d.set, job))
	}
}

func (d *differ) list(rt *rapid.T) {
	d.call(rt, scripts.Names, "1", nil, "0", d.set.Key("job")+":", "100")
	d.call(rt, scripts.Holding, "1", scripts.HoldingKeys(d.set, "j", "k"))
}

// leftCodes are the answers that say, after the owner, how much is left of the lock.
var leftCodes = []string{"LATER", "DONE", "CLAIMED", "BUSY", "UNENDED", "LOST", "LATE"}

// smooth makes answers comparable.
func smooth(wire []string) {
	switch {
	case len(wire) == 8 && slices.Contains(leftCodes, wire[0]):
		wire[4] = difftest.Steps(wire[4])
	case len(wire) > 3 && wire[0] == "OK" && wire[3] == "0": // names, but lock too
		slices.Sort(wire[4:])
	case len(wire) >= 3+2*3 && wire[0] == "OK": // holding
		for at := 3; at+2 < len(wire); {
			wire[at+1] = difftest.Steps(wire[at+1])
			claims, _ := strconv.Atoi(wire[at+2])
			at += 3
			for range claims {
				wire[at+3] = difftest.Steps(wire[at+3])
				at += 4
			}
		}
	}
}

// expire ends a lock or a tombstone.
func (d *differ) expire(rt *rapid.T) {
	x := d.held(rt)
	switch rapid.IntRange(0, 4).Draw(rt, "what") {
	case 0:
		key := d.keys(x)[5]
		d.Do(rt, func(n *nodetest.Node) { delete(n.Dead, key) }, "DEL", key)
	case 1:
		d.dropTicks(rt, x.job)
	case 2:
		place := protocol.TickKey{Stream: x.Stream, Tick: x.Tick}
		d.change(rt, x.job, func(s *protocol.State) { delete(s.TickLocks, place) },
			"DEL", scripts.TickLock(d.set, x.job, x.Stream, time.UnixMilli(x.Tick)))
	default:
		d.dropLock(rt, x.job)
	}
}

// dropLock deletes the lock of a job.
func (d *differ) dropLock(rt *rapid.T, job string) {
	d.change(rt, job, func(s *protocol.State) { s.Lock = protocol.Lease{} }, "DEL", d.set.JobKey(job, "lock"))
}

// dropTicks deletes all locks of ticks, and the marker, which outlasts them.
func (d *differ) dropTicks(rt *rapid.T, job string) {
	d.change(rt, job, func(s *protocol.State) { s.TickLocks, s.Marker = nil, 0 },
		"EVAL", "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end", "0", d.set.JobKey(job, "lock:*"))
	d.Do(rt, func(*nodetest.Node) {}, "DEL", d.set.JobKey(job, "beside"))
}

// trouble is what happens seldom.
func (d *differ) trouble(rt *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(rt, "trouble") {
	case 0:
		d.foreign(rt)
	case 1:
		d.seal(rt)
	default:
		d.restart(rt)
	}
}

// foreign gives a job's lock to another client of Redlock, or to one that sets no ttl.
func (d *differ) foreign(rt *rapid.T) {
	job := d.try(rt).job
	lock := protocol.Lease{Owner: "foreign", Committed: true, Until: nodetest.Endless}
	command := []any{"SET", d.set.JobKey(job, "lock"), "foreign"}
	if rapid.IntRange(0, 3).Draw(rt, "for ever") > 0 {
		ms := difftest.TTL.Milliseconds()
		lock.Until = d.Now().UnixMilli() + ms
		command = append(command, "PX", ms)
	}
	d.change(rt, job, func(s *protocol.State) { s.Lock = lock }, command...)
}

// restart leaves blank nodes blank for a while, and lets the grace pass where it is not to
// be in the way.
func (d *differ) restart(rt *rapid.T) {
	d.Loses(rt)
	if rapid.Bool().Draw(rt, "wait") {
		d.list(rt)
		d.Advance(rt, 2*difftest.Leap)
	}
	if d.Model().Member == nil && rapid.IntRange(0, 3).Draw(rt, "blank") > 0 {
		d.Join(rt)
	}
}

// seal closes the node for a change of the list, or opens it again.
func (d *differ) seal(rt *rapid.T) {
	switch {
	case d.Model().Member == nil:
	case d.Model().Member.SealedFor != "":
		d.Do(rt, func(n *nodetest.Node) { n.Member.SealedFor = "" }, "HDEL", difftest.NodeKey, "sealed_for")
	default:
		d.Do(rt, func(n *nodetest.Node) { n.Member.SealedFor = "target" }, "HSET", difftest.NodeKey, "sealed_for", "target")
	}
}
