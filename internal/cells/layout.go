package cells

import (
	"slices"
	"strings"
)

// A Layout is the names of the cells. It decides which cell a job belongs to.
type Layout []string

// Of returns the index of the cell for the name of a lock or the key of a job. The
// slots of a group belong together.
//
// Its results decide where claims are looked up, so they must never change.
func (l Layout) Of(name string) int {
	if group, ok := strings.CutPrefix(name, "group:"); ok { // group:NAME:SLOT
		group, _, _ = strings.Cut(group, ":")
		name = "group:" + group
	}
	best, most := 0, weight(l[0], name)
	for i, cell := range l[1:] {
		// With equal weights the first cell by name wins, in whatever order they are
		// listed.
		if w := weight(cell, name); w > most || w == most && cell < l[best] {
			best, most = i+1, w
		}
	}
	return best
}

// Sorted returns the names in order.
func (l Layout) Sorted() Layout { return slices.Sorted(slices.Values(l)) }

// weight is FNV-1a over the two names, separated by a zero byte, then the 64-bit
// finaliser of MurmurHash3. FNV alone hardly changes the high bits for names that
// differ at their end.
func weight(cell, name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(cell) {
		h = (h ^ uint64(cell[i])) * prime
	}
	h *= prime // the zero byte
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * prime
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
