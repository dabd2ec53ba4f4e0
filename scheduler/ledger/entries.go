package ledger

import (
	"cmp"
	"slices"
)

// Sort puts the entries of a job into the order of listings: the newest
// order key first; of one tick the runs first, the last one before earlier ones,
// then what was recorded, a skip before a miss.
func Sort(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(
			b.OrderKey().Compare(a.OrderKey()),
			cmp.Compare(a.Stream, b.Stream),
			cmp.Compare(b.Token, a.Token), // of entries without a run it is zero
			cmp.Compare(a.Outcome.weight(), b.Outcome.weight()),
		)
	})
}

// OnePerTick keeps the first entry of each tick of a sorted list, with the stale writes
// of all its attempts: those of one whose lease ran out come when the next one works.
func OnePerTick(sorted []Entry) []Entry {
	kept := sorted[:0]
	for _, e := range sorted {
		if last := len(kept) - 1; last >= 0 && sameTick(kept[last], e) {
			kept[last].StaleWrites += e.StaleWrites
			continue
		}
		kept = append(kept, e)
	}
	clear(sorted[len(kept):])
	return kept
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
