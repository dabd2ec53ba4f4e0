package ledger

import (
	"cmp"
	"slices"
)

// Sort sorts the entries of a job for listings: the newest order key first; within a tick
// runs first, the last one before earlier ones, then records, a skip before a miss.
func Sort(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(
			b.OrderKey().Compare(a.OrderKey()),
			cmp.Compare(a.Stream, b.Stream),
			cmp.Compare(b.Token, a.Token), // zero without a run
			cmp.Compare(a.Outcome.weight(), b.Outcome.weight()),
		)
	})
}

// CountAttempts numbers the runs of each tick. It leaves them in the order of their tokens.
func CountAttempts(entries []Entry) {
	type tick struct {
		stream string
		key    int64
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Token, b.Token) })
	began := map[tick]int{}
	for i := range entries {
		if e := &entries[i]; e.Token != 0 {
			of := tick{e.Stream, e.OrderKey().UnixMilli()}
			began[of]++
			e.Attempt = began[of]
		}
	}
}

// OnePerTick keeps the first entry of each tick of a sorted list, with the interruptions
// and the stale writes of all its attempts: stale writes of an attempt come during the next.
func OnePerTick(sorted []Entry) []Entry {
	kept := sorted[:0]
	for _, e := range sorted {
		if last := len(kept) - 1; last >= 0 && sameTick(kept[last], e) {
			kept[last].StaleWrites += e.StaleWrites
			if e.Outcome == LeaseLost || e.Outcome == Interrupted && !e.HandedOver() {
				if kept[last].Interruptions++; kept[last].Interruptions == 1 {
					kept[last].InterruptedOn = e.Replica
				}
			}
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

// weight orders the outcomes of one tick, the most certain first.
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
