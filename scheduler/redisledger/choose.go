package redisledger

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// runs returns the runs among all, sorted.
func runs(all []known) []scheduler.Entry {
	return entries(slices.DeleteFunc(all, func(k known) bool { return !k.Outcome.Ran() }))
}

// ticks returns one entry per tick, sorted. A claim that few know of gives way
// to a run of the same tick that is certain: it was an attempt that lost.
func ticks(all []known) []scheduler.Entry {
	type tick struct {
		stream string
		key    time.Time
	}
	of := func(k known) tick { return tick{k.Stream, k.OrderKey()} }
	certain := map[tick]bool{}
	for _, k := range all {
		if k.Outcome.Ran() && !k.doubtful {
			certain[of(k)] = true
		}
	}
	all = slices.DeleteFunc(all, func(k known) bool { return k.doubtful && certain[of(k)] })
	return scheduler.OnePerTick(entries(all))
}

func entries(all []known) []scheduler.Entry {
	list := make([]scheduler.Entry, len(all))
	for i, k := range all {
		list[i] = k.Entry
	}
	scheduler.SortEntries(list)
	return list
}
