package job

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
	rank, own := 0, Weight(job, tick, self)
	for _, r := range slices.Compact(slices.Sorted(slices.Values(replicas))) {
		if Ahead(job, tick, r, self, own) {
			rank++
		}
	}
	return rank
}

// Ahead reports whether a replica goes before self, which has the given weight.
func Ahead(job string, tick time.Time, replica, self string, own uint64) bool {
	w := Weight(job, tick, replica)
	return w > own || w == own && replica > self
}

// Weight is a FNV-1a hash of job, tick and replica. It equals that of package hash/fnv,
// without allocations.
func Weight(job string, tick time.Time, replica string) uint64 {
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
	return Scramble(h)
}

const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// Scramble spreads every bit over all others: FNV hardly moves the high ones
// for names that differ at their end. The constants are those of MurmurHash3's
// 64-bit finaliser.
func Scramble(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
