package nodetest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// evict takes the lock, or its share, from v and lets its next extension know
// why. Keys: lock, tombstone, shares. Arguments: v, the reason, the share's place.
func (c *call) evict() ([]string, error) {
	lock, dead := c.keys[1], c.keys[2]
	if err := c.n.setText(dead, c.arg(2), digits(2*c.grace), c.now); err != nil {
		return nil, err
	}
	if owner, _, ok := c.n.text(lock, c.now); ok && owner == c.arg(1) {
		delete(c.n.Texts, lock)
		return answer("OK")
	}
	if c.n.shares(c.keys[3], c.now)[c.arg(3)].Owner != c.arg(1) {
		return answer("NONE")
	}
	c.n.setShare(c.keys[3], c.arg(3), Share{}, c.now)
	return answer("OK")
}

// forget is N8: claim and records of a job go; its tokens and ticks stay closed
// for every job of which nothing is kept. Keys: lock, claim, runs, notes, logs,
// shares.
func (c *call) forget() ([]string, error) {
	m := c.n.Member
	claim, claimed := c.n.Claims[c.keys[2]]
	_, ran := c.n.Runs[c.keys[3]]
	_, noted := c.n.Runs[c.keys[4]]
	_, logged := c.n.Logs[c.keys[5]]
	if _, _, locked := c.n.text(c.keys[1], c.now); locked || len(c.counting(c.keys[6])) > 0 {
		return answer("BUSY")
	}
	if !claimed && !ran && !noted && !logged {
		return answer("NONE")
	}
	fence, tick := larger(0, m.GCFence), larger(0, m.GCTick)
	fence = larger(fence, claim.Fence)
	for _, s := range claim.Streams {
		tick = larger(tick, s.Tick)
	}
	m.GCFence, m.GCTick = digits(fence), digits(tick)
	delete(c.n.Claims, c.keys[2])
	delete(c.n.Runs, c.keys[3])
	delete(c.n.Runs, c.keys[4])
	delete(c.n.Logs, c.keys[5])
	delete(c.n.Shares, c.keys[6])
	return answer("OK")
}

// counting are the places of the shares at a key that count, in order.
func (c *call) counting(key string) []string {
	var places []string
	for place, s := range c.n.shares(key, c.now) {
		if s.counts(c.now) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return places
}

// larger is the larger of n and a text that may be no number.
func larger(n float64, text string) float64 {
	if t, ok := number(text); ok {
		return max(n, t)
	}
	return n
}

// names answers with the names that locks or claims are kept for, all on the one
// page. Argument 2 is what the keys of jobs begin with.
func (c *call) names() ([]string, error) {
	c.n.Sweep(time.UnixMilli(int64(c.now)))
	reply := []string{"OK", "0"}
	keys := slices.AppendSeq(slices.Collect(maps.Keys(c.n.Texts)), maps.Keys(c.n.Claims))
	keys = slices.AppendSeq(keys, maps.Keys(c.n.Shares))
	for _, key := range slices.Sorted(slices.Values(keys)) {
		rest, ours := strings.CutPrefix(key, c.arg(2))
		name, lock := strings.CutSuffix(rest, ":lock")
		name, claim := strings.CutSuffix(name, ":claim")
		name, shares := strings.CutSuffix(name, ":shares")
		if ours && (lock || claim || shares) && name != "" {
			reply = append(reply, name)
		}
	}
	return reply, nil
}

// holding answers for each lock, claim and shares among the keys: who has the
// lock, the ms left of it (-1 for ever, -2 no lock), the claim accepted last, and
// the shares that count.
func (c *call) holding() ([]string, error) {
	reply := []string{"OK"}
	for pair := range slices.Chunk(c.keys[1:], 3) {
		owner, left, ok := c.n.text(pair[0], c.now)
		switch {
		case !ok:
			left = -2
		case c.n.Texts[pair[0]].Expires == 0:
			left = -1
		}
		claim := c.n.Claims[pair[1]]
		s := claim.Streams[claim.Stream]
		done, void := "", ""
		if s.Owner != "" {
			done, void = s.DoneText(), flag(s.Void)
		}
		reply = append(reply, owner, digits(left), claim.Stream, s.Owner, s.Token, s.Tick, s.Attempt, s.Mode, s.Holder, s.At, done, void)
		places := c.counting(pair[2])
		reply = append(reply, strconv.Itoa(len(places)))
		for _, place := range places {
			sh := c.n.Shares[pair[2]].Of[place]
			stream, tick, _ := strings.Cut(strings.TrimSuffix(place, "."), ":")
			reply = append(reply, stream, tick, sh.Owner, digits(sh.Until-c.now), sh.Token, sh.Attempt, sh.Mode, sh.Holder, sh.At)
		}
	}
	return reply, nil
}
