package nodetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/store/protocol"
)

// A jobCall is a request about a job, in the types of package protocol.
type jobCall struct {
	*call
	key string // prefix of the job's keys
	try protocol.Try
	// limits are those of the node before the rule.
	limits protocol.Node
	before protocol.State
}

// jobCall parses the common part of requests about a job. Keys: lock, blocker, marker,
// fence, claim, tombstone, runs. Arguments: 1 v, 2 stream, 3 tick, 4 ttl, 5 whether
// runs may overlap.
func (c *call) jobCall() (*jobCall, error) {
	tick, ttl := c.arg(3), c.arg(4)
	r := reader{}
	j := &jobCall{call: c, key: strings.TrimSuffix(c.keys[4], "fence"), limits: c.limits(), try: protocol.Try{
		Owner: c.arg(1), Stream: c.arg(2), Plain: tick == "", Overlaps: c.arg(5) == "1", TTL: r.integer(ttl),
	}}
	if tick != "" {
		j.try.Tick = r.integer(tick)
	}
	j.before = c.n.Jobs[j.key]
	if tomb, ok := c.n.Dead[j.deadKey()]; ok {
		j.before.Tombstones = map[string]protocol.Tombstone{j.try.Owner: tomb}
	}
	return j, r.err
}

// job returns the rule with its request parsed.
func (c *call) job(rule func(*jobCall) ([]string, error)) func() ([]string, error) {
	return func() ([]string, error) {
		j, err := c.jobCall()
		if err != nil {
			return nil, err
		}
		return rule(j)
	}
}

func (j *jobCall) deadKey() string { return j.keys[6] }

// limits are those of the node.
func (c *call) limits() protocol.Node {
	fence, _ := number(c.n.Member.GCFence)
	tick, _ := number(c.n.Member.GCTick)
	return protocol.Node{
		Now: int64(c.now), Floor: int64(c.floor), Grace: int64(c.grace), GCFence: uint64(fence), GCTick: int64(tick),
	}
}

// mode returns argument 6.
func (j *jobCall) mode() protocol.Mode {
	if j.arg(6) == "0" {
		return protocol.AtMostOnce
	}
	return protocol.AtLeastOnce
}

// store stores the state that a rule returned.
func (j *jobCall) store(s protocol.State) {
	if tomb, ok := s.Tombstones[j.try.Owner]; ok {
		j.n.Dead[j.deadKey()] = tomb
	}
	j.n.setJob(j.key, s)
}

// look is N10. Argument 6 is the mode.
func (j *jobCall) look() ([]string, error) {
	j.try.Mode = j.mode()
	return j.reply(protocol.Look(j.n.Without.seenBy(j), j.limits, j.try)), nil
}

// lock is N2. Argument 6 is the mode.
func (j *jobCall) lock() ([]string, error) {
	j.try.Mode = j.mode()
	s, a := protocol.Lock(j.n.Without.seenBy(j), j.limits, j.try)
	j.store(j.n.Without.restored(j, s))
	return j.reply(a), nil
}

// commit is N3. Arguments: 6 the mode, 7 token, 8 attempt, 9 whether a holder joins, 10
// the packed claim, 11 limit of records.
func (j *jobCall) commit() ([]string, error) {
	j.try.Mode = j.mode()
	r := reader{}
	bid := protocol.Bid{
		Token: uint64(r.integer(j.arg(7))), Attempt: int(r.integer(j.arg(8))), Join: j.arg(9) == "1", Note: j.arg(10), Keep: int(r.integer(j.arg(11))),
	}
	if r.err != nil {
		return nil, r.err
	}
	seen := j.n.Without.seenBy(j)
	if j.n.Without.Fence {
		seen.Fence, j.limits.GCFence = 0, 0
	}
	s, a := protocol.Commit(seen, j.limits, j.try, bid)
	if s.Fence == 0 { // it was hidden, and nothing was accepted
		s.Fence = j.before.Fence
	}
	j.store(j.n.Without.restored(j, s))
	return j.reply(a), nil
}

// extend is N4.
func (j *jobCall) extend() ([]string, error) {
	s, a := protocol.Extend(j.before, j.limits, j.try)
	j.store(s)
	return j.reply(a), nil
}

// finish is N5. Arguments: 6 limit of records, 7 the packed claim, 8 the record, 9
// whether the tick is handed over, 10 whether a request may still arrive.
func (j *jobCall) finish() ([]string, error) {
	r := reader{}
	end := protocol.End{
		Keep: int(r.integer(j.arg(6))), Note: j.arg(8), Handover: j.arg(9) == "1", Straggler: j.arg(10) == "1",
	}
	if r.err != nil {
		return nil, r.err
	}
	s, a := protocol.Finish(j.before, j.limits, j.try, end)
	j.store(j.n.Without.freed(j.try, s))
	return j.reply(a), nil
}

// void is N6. Arguments: 6 the packed claim, 7 whether a request may still arrive.
func (j *jobCall) void() ([]string, error) {
	s, a := protocol.Void(j.before, j.limits, j.try, j.arg(7) == "1")
	j.store(j.n.Without.freed(j.try, s))
	return j.reply(a), nil
}

// reply encodes an answer.
func (j *jobCall) reply(a protocol.Answer) []string {
	words := []string{string(a.Code)}
	switch a.Code {
	case protocol.OK:
		switch j.script {
		case "lock", "look", "commit":
			return append(words, integer(a.Fence), integer(a.Attempt))
		}
	case protocol.Stale:
		return append(words, integer(a.Fence), integer(a.Attempt))
	case protocol.Dead:
		return append(words, a.Reason)
	case protocol.Abstain:
		return append(words, digits(j.floor))
	case protocol.Later, protocol.Done, protocol.Claimed, protocol.Busy, protocol.Unended, protocol.Lost, protocol.Late:
		return append(append(words, a.Claim.Owner, left(a.Left)), described(a.Claim)...)
	}
	return words
}

// left is the time until a lock ends; 0 if it never does, since clients cannot wait for
// that.
func left(ms int64) string {
	if ms > Endless/2 {
		return "0"
	}
	return integer(ms)
}

// described returns holder, tick and token of a claim, empty without one.
func described(c protocol.Claim) []string {
	if c.Token == 0 {
		return []string{"", "", ""}
	}
	tick := ""
	if c.Tick > 0 {
		tick = integer(c.Tick)
	}
	return []string{packedHolder(c.Note), tick, integer(c.Token)}
}

// packedHolder is the holder in a packed claim, the eighth field.
func packedHolder(packed string) string {
	head, _, _ := strings.Cut(packed, "|")
	if words := strings.Fields(head); len(words) > 7 {
		return words[7]
	}
	return ""
}

// Without names checks to omit: a test that stays green without one of them does not
// test what that check protects. The rules stay unchanged: the node hides from them
// what they would check, or alters their result.
type Without struct {
	Fence   bool // accepts tokens that are not above the fence
	Tick    bool // ignores ticks that are claimed, done or past
	Restart bool // ignores its own restarts
	Compare bool // frees a lock whoever owns it
}

// seenBy is the state for a try, without the claim of its stream if ticks are ignored.
func (w Without) seenBy(j *jobCall) protocol.State {
	s := j.before
	if w.Tick {
		s.Streams = maps.Clone(s.Streams)
		delete(s.Streams, j.try.Stream)
		j.limits.GCTick = 0
	}
	return s
}

// restored puts back what seenBy has hidden, unless there is another claim now.
func (w Without) restored(j *jobCall, s protocol.State) protocol.State {
	hidden, had := j.before.Streams[j.try.Stream]
	if _, accepted := s.Streams[j.try.Stream]; w.Tick && had && !accepted {
		s.Streams = maps.Clone(s.Streams)
		s.Streams[j.try.Stream] = hidden
	}
	return s
}

// freed drops the try's lock, whoever owns it.
func (w Without) freed(try protocol.Try, s protocol.State) protocol.State {
	switch {
	case !w.Compare:
	case try.Overlaps:
		s.TickLocks = maps.Clone(s.TickLocks)
		delete(s.TickLocks, protocol.TickKey{Stream: try.Stream, Tick: try.Tick})
	default:
		s.Lock = protocol.Lease{}
	}
	return s
}

// evict deletes the lock of v and stores the reason for its next extension. Keys: lock,
// tombstone. Arguments: v, the reason.
func (c *call) evict() ([]string, error) {
	try := protocol.Try{Owner: c.arg(1)}
	job, _ := c.lockAt(c.keys[1], &try)
	s, a := protocol.Evict(c.n.Jobs[job], c.limits(), try, c.arg(2))
	c.n.Dead[c.keys[2]] = s.Tombstones[try.Owner]
	if a.Code == protocol.OK {
		c.n.setJob(job, s)
	}
	return answer(string(a.Code))
}

// lockAt finds the job and the place of a lock.
func (c *call) lockAt(key string, try *protocol.Try) (job string, ok bool) {
	for job, s := range c.n.Jobs {
		if job+"lock" == key {
			return job, true
		}
		for place := range s.TickLocks {
			if tickLock(job, place) == key {
				try.Overlaps, try.Stream, try.Tick = true, place.Stream, place.Tick
				return job, true
			}
		}
	}
	return "", false
}

// tickLock is the key of the lock of a tick.
func tickLock(job string, p protocol.TickKey) string {
	return job + "lock:" + p.Stream + ":" + integer(p.Tick)
}

// forget is N8: claims and records of a job are deleted. Its tokens and ticks stay
// closed for every unknown job. Keys: fence, lock, marker, runs, notes, logs.
func (c *call) forget() ([]string, error) {
	key := strings.TrimSuffix(c.keys[1], "fence")
	_, noted := c.n.Notes[c.keys[5]]
	_, logged := c.n.Logs[c.keys[6]]
	_, limits, a := protocol.Forget(c.n.Jobs[key], c.limits())
	if a.Code == protocol.None && (noted || logged) {
		a.Code = protocol.OK
	}
	if a.Code == protocol.OK {
		c.n.Member.GCFence, c.n.Member.GCTick = integer(limits.GCFence), integer(limits.GCTick)
		delete(c.n.Jobs, key)
		delete(c.n.Notes, c.keys[5])
		delete(c.n.Logs, c.keys[6])
	}
	return answer(string(a.Code))
}

// names returns the names with locks or claims, all on one page. Argument 2 is the
// prefix of the keys of jobs.
func (c *call) names() ([]string, error) {
	reply := []string{"OK", "0"}
	for _, key := range slices.Sorted(maps.Keys(c.n.Jobs)) {
		job := c.n.Jobs[key]
		name, ours := strings.CutPrefix(strings.TrimSuffix(key, ":"), c.arg(2))
		for _, there := range []bool{c.lasts(job.Lock), int64(c.now) <= job.Marker, job.Fence > 0} {
			if ours && there {
				reply = append(reply, name)
			}
		}
	}
	return reply, nil
}

func (c *call) lasts(l protocol.Lease) bool { return l.Owner != "" && int64(c.now) <= l.Until }

// holding returns for each name its lock, the claims and the older runs that have a
// lock. Keys: lock, marker, fence and runs of each.
func (c *call) holding() ([]string, error) {
	reply := []string{"OK"}
	for keys := range slices.Chunk(c.keys[1:], 4) {
		job := c.n.Jobs[strings.TrimSuffix(keys[2], "fence")]
		var found []string
		for _, stream := range slices.Sorted(maps.Keys(job.Streams)) {
			claim, held := job.Streams[stream], protocol.Lease{}
			if claim.Overlaps {
				held = job.TickLocks[protocol.TickKey{Stream: stream, Tick: claim.Tick}]
			}
			found = append(append(found, Letter(claim), claim.Note), c.leaseFields(held)...)
		}
		for _, r := range slices.Backward(c.n.Runs(keys[3])) {
			for _, place := range placeOf(r.Record) {
				if held := job.TickLocks[place]; c.lasts(held) {
					found = append(append(found, "-", r.Record[1:]), c.leaseFields(held)...)
				}
			}
		}
		reply = append(append(reply, c.leaseFields(job.Lock)...), integer(len(found)/4))
		reply = append(reply, found...)
	}
	return reply, nil
}

// leaseFields are a lock's value, and the ms until it ends: -1 never, -2 no lock.
func (c *call) leaseFields(l protocol.Lease) []string {
	switch {
	case !c.lasts(l):
		return []string{"", "-2"}
	case l.Until == Endless:
		return []string{Value(l), "-1"}
	}
	return []string{Value(l), integer(l.Until - int64(c.now))}
}
