package redlock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/locking/redlock/nodetest"
	"github.com/quorate/quorate/locking/redlock/nodetest/difftest"
)

// The scripts and the plain model of a node answer alike and store alike,
// whatever is asked in whatever order: on a real server and an embedded one.
func TestScriptsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	bench := difftest.New(t)
	bench.Check(t, func(rt *rapid.T) map[string]func(*rapid.T) {
		bench.Join(rt)
		d := differ{bench}
		return map[string]func(*rapid.T){
			"acquire": d.acquire, "ask": d.ask, "commit": d.commit, "extend": d.extend, "finish": d.finish,
			"claim": d.claim, "claim too": d.claim, "extend too": d.extend, "finish too": d.finish,
			"give up": d.giveUp, "operator": d.operator, "look": d.look,
			"time": bench.Advances, "expire": d.expire, "expire too": d.expire,
			"trouble": d.trouble,
		}
	})
}

// A differ draws requests, mostly about what is stored, and near the bounds of
// what is accepted.
type differ struct{ *difftest.Bench }

func (d differ) call(rt *rapid.T, script *nodes.Script, sealed string, keys []string, own ...string) {
	head := difftest.Ours()
	head.Sealed = sealed
	d.Call(rt, script, append([]string{difftest.NodeKey}, keys...), head.Draw(rt).Args(own...), smooth)
}

// A target is what a request is about.
type target struct {
	job, v, stream, tick string
	beside               string
	keys                 []string
	claim                nodetest.Claim
	stand                nodetest.Stand
}

func (d differ) target(rt *rapid.T) target {
	x := target{
		job:    rapid.SampledFrom([]string{"j", "j", "j", "k", "k"}).Draw(rt, "job"),
		v:      rapid.SampledFrom([]string{"va", "vb", "vc", "vd"}).Draw(rt, "v"),
		stream: rapid.SampledFrom([]string{"schedule", "schedule", "manual", "lock"}).Draw(rt, "stream"),
	}
	x.keys = []string{jobKey(x.job, "lock"), jobKey(x.job, "claim"), "q:dead:" + x.v, jobKey(x.job, "runs"), jobKey(x.job, "shares")}
	x.beside = "0"
	x.claim = d.Model().Claims[x.keys[1]]
	x.stand = x.claim.Streams[x.stream]
	if x.stream != "lock" {
		x.tick = d.tick(rt, x.stand)
		x.beside = rapid.SampledFrom([]string{"0", "1"}).Draw(rt, "beside")
	}
	return x
}

func jobKey(job, what string) string { return "q:job:" + job + ":" + what }

// tick draws one of a few ticks, that of the claim or one beside it, or one at
// the end of what the node has a say in.
func (d differ) tick(rt *rapid.T, s nodetest.Stand) string {
	now, grace := d.Now().UnixMilli(), difftest.Grace.Milliseconds()
	list := []int64{1_800_000_000_000, 1_800_000_001_000, now - 1000, now, now + grace/2, now + grace/2 + 1}
	if stored, err := strconv.ParseInt(s.Tick, 10, 64); err == nil {
		list = append(list, stored, stored, stored, stored, stored+1, stored-1)
	}
	if m := d.Model().Member; m != nil {
		floor := integer(m.Since) + grace
		list = append(list, floor, floor+1)
		if gc := integer(m.GCTick); gc > 0 {
			list = append(list, gc, gc+1)
		}
	}
	return strconv.FormatInt(rapid.SampledFrom(list).Draw(rt, "tick"), 10)
}

// token draws one near the fences, one of now, the largest that is accepted, or
// no token at all.
func (d differ) token(rt *rapid.T, x target) string {
	now, grace := d.Now().UnixMilli(), difftest.Grace.Milliseconds()
	list := []int64{now / 1000 << 20, now/1000<<20 + 1, 5, int64(float64(now+grace/2) / 1000 * (1 << 20)), int64(float64(now+grace/2)/1000*(1<<20)) + 1}
	if fence := integer(x.claim.Fence); fence > 0 {
		list = append(list, fence-1, fence, fence+1, fence+1, fence+1, fence+2)
	}
	if m := d.Model().Member; m != nil {
		floor := (integer(m.Since) + grace + 999) / 1000 << 20
		list = append(list, floor, floor+1)
		if gc := integer(m.GCFence); gc > 0 {
			list = append(list, gc, gc+1)
		}
	}
	// The Lua of an embedded server reads no larger ones.
	odd := []string{"", "abc", "0", "-5", "9007199254740991", "9007199254740992", "9223372036854775807"}
	if rapid.IntRange(0, 15).Draw(rt, "odd token") == 0 {
		return rapid.SampledFrom(odd).Draw(rt, "token")
	}
	return strconv.FormatInt(rapid.SampledFrom(list).Draw(rt, "token"), 10)
}

// heldToken draws mostly the token of the claim.
func (d differ) heldToken(rt *rapid.T, x target) string {
	if x.stand.Token != "" && rapid.IntRange(0, 3).Draw(rt, "own token") > 0 {
		return x.stand.Token
	}
	return d.token(rt, x)
}

func ttl(rt *rapid.T) string {
	if rapid.IntRange(0, 40).Draw(rt, "odd ttl") == 0 {
		return rapid.SampledFrom([]string{"", "abc"}).Draw(rt, "ttl")
	}
	return strconv.FormatInt(difftest.TTL.Milliseconds(), 10)
}

func few(rt *rapid.T, name string, most int) string {
	return strconv.Itoa(rapid.IntRange(1, most).Draw(rt, name))
}

// keep draws how many records to keep.
func keep(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"1", "2", "3", "3", "0", "x"}).Draw(rt, "keep")
}

func mode(rt *rapid.T) string { return rapid.SampledFrom([]string{"0", "1"}).Draw(rt, "mode") }

// record is that of a claim; a plain lock has none.
func (x target) record(token string) string {
	if x.tick == "" {
		return ""
	}
	return fmt.Sprintf("%s|%s.%s.%s", x.stream, x.v, x.tick, token)
}

func (d differ) acquire(rt *rapid.T) {
	x := d.target(rt)
	d.call(rt, acquireScript, "0", x.keys, x.v, x.stream, x.tick, ttl(rt), x.beside, mode(rt))
}

// ask looks at a tick, as nobody.
func (d differ) ask(rt *rapid.T) {
	x := d.target(rt)
	x.keys[2] = "q:dead:"
	d.call(rt, lookScript, "0", x.keys, "", x.stream, x.tick, ttl(rt), x.beside, mode(rt))
}

func (d differ) commit(rt *rapid.T) {
	x := d.target(rt)
	token := d.token(rt, x)
	own := []string{x.v, x.stream, x.tick, ttl(rt), x.beside, token, mode(rt), few(rt, "attempt", 4), "holder of " + x.v, keep(rt), x.record(token)}
	if rapid.Bool().Draw(rt, "instead") {
		own = append(own, x.record(x.stand.Token), x.record("4"))
	}
	d.call(rt, commitScript, "0", x.keys, own...)
}

// claim is a commit that a node with a say accepts, unless the tick is closed or
// somebody else has the lock.
func (d differ) claim(rt *rapid.T) {
	x := d.target(rt)
	now := d.Now().UnixMilli()
	if x.tick != "" {
		tick := max(integer(x.stand.Tick), now) + rapid.SampledFrom([]int64{0, 0, 1000}).Draw(rt, "later")
		x.tick = strconv.FormatInt(tick, 10)
	}
	token := strconv.FormatInt(max(integer(x.claim.Fence)+1, now/1000<<20), 10)
	attempt := strconv.FormatInt(integer(x.stand.Attempt)+1, 10)
	d.call(rt, commitScript, "0", x.keys,
		x.v, x.stream, x.tick, ttl(rt), x.beside, token, mode(rt), attempt, "holder of "+x.v, "3", x.record(token))
}

func (d differ) extend(rt *rapid.T) {
	x := d.held(rt)
	d.call(rt, extendScript, "0", x.keys, x.v, x.stream, x.tick, ttl(rt), x.beside, d.heldToken(rt, x))
}

// held is a target that is mostly the claim itself.
func (d differ) held(rt *rapid.T) target {
	x := d.target(rt)
	if x.stand.Owner != "" && rapid.IntRange(0, 3).Draw(rt, "own claim") > 0 {
		x.v, x.tick = x.stand.Owner, x.stand.Tick
	}
	shares := d.Model().Shares[x.keys[4]].Of
	if len(shares) > 0 && rapid.Bool().Draw(rt, "own share") {
		place := rapid.SampledFrom(slices.Sorted(maps.Keys(shares))).Draw(rt, "place")
		x.stream, x.tick, _ = strings.Cut(strings.TrimSuffix(place, "."), ":")
		x.v, x.beside = shares[place].Owner, "1"
		x.stand.Token = cmp.Or(shares[place].Token, x.stand.Token)
	}
	x.keys[2] = "q:dead:" + x.v
	return x
}

func (d differ) finish(rt *rapid.T) {
	x := d.held(rt)
	token := d.heldToken(rt, x)
	own := []string{x.v, x.stream, x.tick, ttl(rt), x.beside, token, keep(rt), x.record(token), x.record(token)}
	if rapid.IntRange(0, 3).Draw(rt, "handover") == 0 {
		own = append(own, "1")
	}
	d.call(rt, finishScript, "1", x.keys, own...)
}

// giveUp aborts, with a tombstone or without, or voids.
func (d differ) giveUp(rt *rapid.T) {
	x := d.held(rt)
	own := []string{x.v, x.stream, x.tick, ttl(rt), x.beside}
	switch rapid.IntRange(0, 3).Draw(rt, "how") {
	case 0:
		d.call(rt, voidScript, "0", x.keys, append(own, x.record(d.heldToken(rt, x)), x.record("4"))...)
	case 1:
		d.call(rt, abortScript, "0", x.keys, append(own, "1")...)
	default:
		d.call(rt, abortScript, "0", x.keys, append(own, "0")...)
	}
}

// operator takes a lock away, or forgets jobs, of which each may be running.
func (d differ) operator(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "evict") == 0 {
		x := d.held(rt)
		d.call(rt, evictScript, "0", []string{x.keys[0], x.keys[2], x.keys[4]}, x.v, "no more of this", x.stream+":"+x.tick+".")
		return
	}
	for _, job := range rapid.SampledFrom([][]string{{"j"}, {"k"}, {"j", "k"}, {"k", "j"}}).Draw(rt, "jobs") {
		lock := jobKey(job, "lock")
		if rapid.IntRange(0, 2).Draw(rt, "running") > 0 {
			d.drop(rt, lock)
		}
		d.call(rt, forgetScript, "0", []string{lock, jobKey(job, "claim"), jobKey(job, "runs"), jobKey(job, "notes"), jobKey(job, "logs"), jobKey(job, "shares")})
	}
}

func (d differ) look(rt *rapid.T) {
	d.call(rt, namesScript, "1", nil, "0", "q:job:", "100")
	d.call(rt, holdingScript, "1", []string{jobKey("j", "lock"), jobKey("j", "claim"), jobKey("j", "shares"), jobKey("k", "lock"), jobKey("k", "claim"), jobKey("k", "shares")})
}

// expire ends a lock, all shares of it, or a tombstone.
func (d differ) expire(rt *rapid.T) {
	x := d.target(rt)
	key := rapid.SampledFrom([]string{x.keys[0], x.keys[0], x.keys[2], x.keys[4]}).Draw(rt, "key")
	d.drop(rt, key)
}

func (d differ) drop(rt *rapid.T, key string) {
	d.Do(rt, func(n *nodetest.Node) {
		delete(n.Texts, key)
		delete(n.Shares, key)
	}, "DEL", key)
}

// trouble is what happens seldom.
func (d differ) trouble(rt *rapid.T) {
	switch rapid.IntRange(0, 3).Draw(rt, "trouble") {
	case 0:
		d.foreign(rt)
	case 1:
		d.seal(rt)
	default:
		d.restart(rt)
	}
}

// foreign gives the lock to another client of Redlock, or to one that sets no
// ttl.
func (d differ) foreign(rt *rapid.T) {
	key := d.target(rt).keys[0]
	if rapid.Bool().Draw(rt, "for ever") {
		d.Do(rt, func(n *nodetest.Node) { n.Texts[key] = nodetest.Text{Value: "foreign"} }, "SET", key, "foreign")
		return
	}
	ms := difftest.TTL.Milliseconds()
	lock := nodetest.Text{Value: "foreign", Expires: float64(d.Now().UnixMilli() + ms)}
	d.Do(rt, func(n *nodetest.Node) { n.Texts[key] = lock }, "SET", key, "foreign", "PX", ms)
}

// restart leaves blank nodes blank for a while, and lets the grace pass where it
// is not to be in the way.
func (d differ) restart(rt *rapid.T) {
	d.Loses(rt)
	if rapid.Bool().Draw(rt, "wait") {
		d.look(rt)
		d.Advance(rt, 2*difftest.Leap)
	}
	if d.Model().Member == nil && rapid.IntRange(0, 3).Draw(rt, "blank") > 0 {
		d.Join(rt)
	}
}

// seal closes the node for a change of the list, or opens it again.
func (d differ) seal(rt *rapid.T) {
	switch {
	case d.Model().Member == nil:
	case d.Model().Member.SealedFor != "":
		d.Do(rt, func(n *nodetest.Node) { n.Member.SealedFor = "" }, "HDEL", difftest.NodeKey, "sealed_for")
	default:
		d.Do(rt, func(n *nodetest.Node) { n.Member.SealedFor = "target" }, "HSET", difftest.NodeKey, "sealed_for", "target")
	}
}

// leftCodes are the answers that say, after the owner, how much is left of the
// lock.
var leftCodes = []string{"LATER", "DONE", "CLAIMED", "BUSY", "LOST", "LATE"}

// smooth makes answers comparable.
func smooth(wire []string) {
	switch {
	case len(wire) == 8 && slices.Contains(leftCodes, wire[0]):
		wire[4] = difftest.Steps(wire[4])
	case len(wire) >= 3+2*13 && wire[0] == "OK": // holding: what is left of j's lock, and of k's
		wire[4] = difftest.Steps(wire[4])
		shares, _ := strconv.Atoi(wire[15])
		wire[17+9*shares] = difftest.Steps(wire[17+9*shares])
	case len(wire) > 4 && wire[0] == "OK" && wire[3] == "0": // names, but acquire too
		slices.Sort(wire[4:])
	}
}

func integer(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
