package ledger

import (
	"slices"

	"github.com/quorate/quorate/scheduler/ledger"
)

// runs returns the runs among all, sorted.
func runs(all []known) []ledger.Entry {
	return entries(slices.DeleteFunc(all, func(k known) bool { return !k.Ran() }))
}

// ticks returns one entry per tick, sorted. A doubtful claim gives way to a certain run
// of the same tick: it was an attempt that lost.
func ticks(all []known) []ledger.Entry {
	certain := map[tickKey]bool{}
	for _, k := range all {
		if k.Ran() && !k.doubtful {
			certain[k.tick()] = true
		}
	}
	all = slices.DeleteFunc(all, func(k known) bool { return k.doubtful && certain[k.tick()] })
	return ledger.OnePerTick(entries(all))
}

func entries(all []known) []ledger.Entry {
	list := make([]ledger.Entry, len(all))
	for i, k := range all {
		list[i] = k.Entry
	}
	ledger.Sort(list)
	return list
}
