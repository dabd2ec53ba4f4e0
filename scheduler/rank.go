package scheduler

import (
	"slices"
	"time"
)

// Rank returns the place of self, from 0, in the order in which the replicas
// try to claim a tick. All replicas that know the same replicas compute the
// same order, another one for each job and tick, so that wins spread evenly.
// Self is counted whether it is listed or not.
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

// ahead tells whether a replica goes before self, which has the given weight.
func ahead(job string, tick time.Time, replica, self string, own uint64) bool {
	w := weight(job, tick, replica)
	return w > own || w == own && replica > self
}

// standing is the Rank of this replica for a tick of the job among those that live
// and may run it, and how many these are.
func (e *engine) standing(j *Job, at time.Time) (rank, crowd int) {
	live := e.live()
	if len(live) == 0 {
		return 0, 0
	}
	self := e.cfg.Replica
	own := weight(j.key(), at, self)
	for i := range live {
		if r := &live[i]; fits(r.Labels, j.Labels) {
			crowd++
			if r.ID != self && ahead(j.key(), at, r.ID, self, own) {
				rank++
			}
		}
	}
	return rank, crowd
}

// weight is made of the FNV-1a hash of job, tick and replica. That of package
// hash/fnv is the same, and allocates.
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
