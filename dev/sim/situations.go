package sim

import (
	"cmp"
	"slices"
	"time"
)

// The situations that are counted: where none of a kind comes about, that
// nothing was broken shows little.
const (
	PausedInClaim  = "jobs paused while a tick was claimed"
	ReloadedInRun  = "reloads during a run"
	HandedOn       = "catch-ups that went on after their replica died"
	ReplacedAcross = "runs cancelled for a tick won elsewhere"
	RanAgain       = "runs taken over from a replica that died"
	WaitedForSlot  = "claims that waited, their group being full"
	WaitedForDead  = "of these, a dead replica held a slot"
	RanBeside      = "runs begun beside another of their job"
	InOneRound     = "claims won in one round"
	ByLooking      = "ticks left to others by looking"
)

// Situations are all that are counted, in the order of listings.
func Situations() []string {
	return []string{
		PausedInClaim, ReloadedInRun, HandedOn, ReplacedAcross, RanAgain, WaitedForSlot, WaitedForDead, RanBeside,
		InOneRound, ByLooking,
	}
}

// Count returns how often each situation came about in a world.
func Count(r Record) map[string]int {
	all, claims := fold(r.Events), map[string][]*claim{}
	for _, c := range all {
		claims[c.Job] = append(claims[c.Job], c)
	}
	n := map[string]int{PausedInClaim: pausedInClaim(r.Events), ReloadedInRun: reloadedInRun(r.Events, all)}
	for _, e := range r.Events {
		switch {
		case e.What == Granted && e.Direct:
			n[InOneRound]++
		case e.What == Looked && e.Text != Hint:
			n[ByLooking]++
		}
	}
	for job, list := range claims {
		slices.SortFunc(list, func(a, b *claim) int { return cmp.Compare(a.Token, b.Token) })
		countSuccessions(list, n)
		countBeside(list, n)
		if r.Rules[job].Group != "" {
			r.countWaits(list, all, n)
		}
	}
	return n
}

// pausedInClaim counts the pauses of jobs while a claim of a tick had no answer yet.
func pausedInClaim(events []Event) (n int) {
	asking := map[string]int{}
	for _, e := range events {
		switch {
		case e.What == Paused && asking[e.Job] > 0:
			n++
		case e.Tick.IsZero():
		case e.What == Asked:
			asking[e.Job]++
		case e.What == Granted || e.What == Refused:
			asking[e.Job]--
		}
	}
	return n
}

// reloadedInRun counts the times that a replica took in other jobs while it ran
// one.
func reloadedInRun(events []Event, claims []*claim) (n int) {
	serves := map[string]bool{}
	for _, e := range events {
		if e.What != Serving {
			continue
		}
		running := func(c *claim) bool { return c.Replica == e.Replica && c.runs(e.At) }
		if serves[e.Replica] && slices.ContainsFunc(claims, running) {
			n++
		}
		serves[e.Replica] = true
	}
	return n
}

// runs reports whether the job's function is at work.
func (c *claim) runs(at time.Duration) bool {
	return c.began != none && c.began < at && (c.stopped == none || at < c.stopped)
}

// countSuccessions counts what a run is to the one before it, on another replica.
func countSuccessions(claims []*claim, n map[string]int) {
	var before *claim
	for _, c := range claims {
		if c.began == none {
			continue
		}
		if before != nil && before.Replica != c.Replica {
			follows(before, c, n)
		}
		before = c
	}
}

func follows(before, c *claim, n map[string]int) {
	if before.why == ByTick {
		n[ReplacedAcross]++
	}
	if before.died && c.Attempt > 1 {
		n[RanAgain]++
	}
	if before.died && before.trigger == CatchUp && (c.trigger == CatchUp || c.Attempt > 1) {
		n[HandedOn]++
	}
}

func countBeside(claims []*claim, n map[string]int) {
	for _, c := range claims {
		if c.began != none && slices.ContainsFunc(claims, func(o *claim) bool { return o != c && o.runs(c.began) }) {
			n[RanBeside]++
		}
	}
}

// countWaits counts the claims of a job during which its group was full.
func (r Record) countWaits(claims, all []*claim, n map[string]int) {
	rules, deaths := r.Rules[claims[0].Job], map[string]time.Duration{}
	for _, e := range r.Events {
		if e.What == Died {
			deaths[e.Replica] = e.At
		}
	}
	slots := slices.DeleteFunc(slices.Clone(all), func(c *claim) bool { return r.Slots[c.Job] != rules.Group })
	for _, c := range claims {
		until := c.end()
		if c.began != none {
			until = c.began
		}
		full, dead := false, false
		for _, s := range slots {
			at := max(c.At, s.At)
			held := slices.DeleteFunc(slices.Clone(slots), func(o *claim) bool { return !o.held(at) })
			if at >= until || len(held) < rules.Size {
				continue
			}
			full = true
			dead = dead || slices.ContainsFunc(held, func(o *claim) bool {
				died, ok := deaths[o.Replica]
				return ok && died < min(until, o.end())
			})
		}
		if full {
			n[WaitedForSlot]++
		}
		if dead {
			n[WaitedForDead]++
		}
	}
}
