package scheduler

import (
	"cmp"
	"slices"
)

// SortEntries puts the entries of a job into the order of listings: the newest
// order key first; of one tick the runs first, the last one before earlier ones,
// then what was recorded, a skip before a miss.
func SortEntries(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(
			b.OrderKey().Compare(a.OrderKey()),
			cmp.Compare(a.Stream, b.Stream),
			cmp.Compare(b.Token, a.Token), // of entries without a run it is zero
			cmp.Compare(a.Outcome.weight(), b.Outcome.weight()),
		)
	})
}

// OnePerTick keeps the first entry of each tick of a sorted list.
func OnePerTick(sorted []Entry) []Entry {
	return slices.CompactFunc(sorted, sameTick)
}

func sameTick(a, b Entry) bool {
	return a.Stream == b.Stream && a.OrderKey().Equal(b.OrderKey())
}

// weight orders what may be known of one tick, the stronger word first.
func (o Outcome) weight() int {
	switch o {
	case Missed:
		return 2
	case Skipped:
		return 1
	default:
		return 0
	}
}
