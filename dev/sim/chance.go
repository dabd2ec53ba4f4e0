package sim

import "math/rand/v2"

// A Seed decides all that is chance in a world.
type Seed uint64

// Draw returns the random numbers of one decision. They depend only on the seed and on the
// decision: goroutines of one instant run in any order, and must not affect each other's
// numbers.
func (s Seed) Draw(about ...string) *rand.Rand { return s.draw(digest(about...)) }

func (s Seed) draw(about uint64) *rand.Rand {
	return rand.New(rand.NewPCG(scramble(uint64(s)), scramble(about)))
}

// digest is FNV-1a over the texts, each ended by a zero byte.
func digest(texts ...string) uint64 {
	h := uint64(14695981039346656037)
	for _, t := range texts {
		for i := range len(t) {
			h = (h ^ uint64(t[i])) * 1099511628211
		}
		h *= 1099511628211
	}
	return h
}

// scramble spreads every bit over all others: the finaliser of splitmix64.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
