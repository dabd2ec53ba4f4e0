package scheduler

import (
	"slices"
	"time"
)

// Rank returns the place of self, from 0, in the order in which the replicas try to claim a
// tick. Replicas that see the same replicas compute the same order. It differs by job and
// tick, so wins spread evenly. Self counts whether it is listed or not.
//
// The order is by highest random weight: when a replica comes or goes, the
// others keep their places relative to each other.
func Rank(job string, tick time.Time, self string, replicas []string) int {
	rank, own := 0, weight(job, tick, self)
	for _, r := range slices.Compact(slices.Sorted(slices.Values(replicas))) {
		if ahead(job, tick, r, self, own) {
			rank++
		}
	}
	return rank
}

// ahead reports whether a replica goes before self, which has the given weight.
func ahead(job string, tick time.Time, replica, self string, own uint64) bool {
	w := weight(job, tick, replica)
	return w > own || w == own && replica > self
}

// rankFor is the place of this replica for a tick of the job.
func (e *engine) rankFor(j *Job, at time.Time) (rank, crowd int, lead time.Duration) {
	live := e.live()
	if len(live) == 0 {
		return 0, 0, 0
	}
	return place(j.key(), at, e.cfg.Replica, j.Labels, live)
}

// place is the Rank of self among live replicas with the labels, and their number. Replicas
// with a skewed clock come after the others; lead is how far self's skewed clock is ahead.
func place(job string, tick time.Time, self string, labels map[string]string, live []Replica) (rank, crowd int, lead time.Duration) {
	own := weight(job, tick, self)
	right, before, skewedBefore := 0, 0, 0
	skewed := false
	for i := range live {
		r := &live[i]
		if r.ID == self {
			if skewed = r.State == StateSkewed; skewed && r.ClockOffset != nil {
				lead = max(*r.ClockOffset, 0)
			}
		}
		if !fits(r.Labels, labels) {
			continue
		}
		crowd++
		goesBefore := r.ID != self && ahead(job, tick, r.ID, self, own)
		switch {
		case r.State == StateSkewed && goesBefore:
			skewedBefore++
		case r.State != StateSkewed:
			right++
			if goesBefore {
				before++
			}
		}
	}
	switch {
	case !skewed:
		return before, crowd, 0
	case right == 0:
		return skewedBefore, crowd, 0
	}
	return right + skewedBefore, crowd, lead
}

// weight is a FNV-1a hash of job, tick and replica. It equals that of package hash/fnv,
// without allocations.
func weight(job string, tick time.Time, replica string) uint64 {
	h := uint64(fnvOffset)
	for i := range len(job) {
		h = (h ^ uint64(job[i])) * fnvPrime
	}
	h *= fnvPrime // a zero byte between name and number
	for ms, shift := uint64(tick.UnixMilli()), 56; shift >= 0; shift -= 8 {
		h = (h ^ ms>>shift&0xff) * fnvPrime
	}
	for i := range len(replica) {
		h = (h ^ uint64(replica[i])) * fnvPrime
	}
	return scramble(h)
}

const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// scramble spreads every bit over all others: FNV hardly moves the high ones
// for names that differ at their end. The constants are those of MurmurHash3's
// 64-bit finaliser.
func scramble(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
