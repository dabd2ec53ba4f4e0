package nodetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/store/protocol"
)

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
func tickLock(job string, p protocol.Place) string {
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
				held = job.TickLocks[protocol.Place{Stream: stream, Tick: claim.Tick}]
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
