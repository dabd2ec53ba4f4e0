package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// checkOrder: of two ticks of a stream the later one has the larger token, unless
// one was given back unused.
func checkOrder(claims []*claim) []Violation {
	var list []Violation
	latest := map[string]*claim{} // of each stream, of those with smaller tokens
	byToken := slices.SortedFunc(slices.Values(claims), func(a, b *claim) int { return cmp.Compare(a.Token, b.Token) })
	for _, c := range byToken {
		if c.Tick.IsZero() || c.voided && c.began == none {
			continue
		}
		before := latest[c.Stream]
		if before == nil || c.Tick.After(before.Tick) {
			latest[c.Stream] = c
		} else if c.Tick.Before(before.Tick) {
			list = append(list, Violation{Order, c.At, fmt.Sprintf(
				"%v was given tick %s, and %v a later one, %s", c, stamp(c.Tick), before, stamp(before.Tick))})
		}
	}
	return list
}

// checkSpared: the context of a run ends for what its job's policies say, and
// for nothing else, such as a reload.
func checkSpared(claims []*claim, r Record) []Violation {
	var list []Violation
	for _, c := range claims {
		switch {
		case c.why == "" || c.why == ByLease || c.why == ByDrain:
		case c.why != ByTick:
			list = append(list, Violation{Spared, c.stopped, fmt.Sprintf("%v was asked to stop: %s", c, c.why)})
		case !r.Rules[c.Job].Replaces:
			list = append(list, Violation{Spared, c.stopped, fmt.Sprintf("%v was asked to stop for the next tick, which is not its policy", c)})
		}
	}
	return list
}

// checkGone: a replica that dropped a job asks for no claim of it until it takes
// it in again.
func checkGone(claims []*claim, r Record) []Violation {
	var list []Violation
	for _, c := range claims {
		dropped := none
		for _, e := range r.Events {
			switch {
			case e.At >= c.asked || e.Replica != c.Replica || e.Job != c.Job:
			case e.What == Dropped:
				dropped = e.At
			case e.What == Taken:
				dropped = none
			}
		}
		if dropped != none {
			list = append(list, Violation{Gone, c.At, fmt.Sprintf("%v was asked for, and %s had dropped %s at %v", c, c.Replica, c.Job, dropped)})
		}
	}
	return list
}
