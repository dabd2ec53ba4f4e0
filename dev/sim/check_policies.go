package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Rules are what a job's policies promise beyond what holds for every job.
type Rules struct {
	// Latest is how long after its tick a run of the schedule may begin, by the
	// world's clock. 0: it is not looked at.
	Latest time.Duration
	// Replaced is how soon after the job's next tick a run has been asked to stop.
	// 0: it is not looked at.
	Replaced time.Duration
	// Again: a run that was cut short is run again, so none stays interrupted.
	Again bool
	// Replaces: a run is asked to stop when the job's next tick comes.
	Replaces bool
	// Group is the limit that runs of the job count against; empty: none. It has
	// Size slots.
	Group string
	Size  int
}

// checkAttempts: of the claims of one tick, the one with the larger token is the
// later attempt.
func checkAttempts(claims []*claim) []Violation {
	var list []Violation
	last := map[string]*claim{} // of each tick, with the largest token so far
	byToken := slices.SortedFunc(slices.Values(claims), func(a, b *claim) int { return cmp.Compare(a.Token, b.Token) })
	for _, c := range byToken {
		if c.Tick.IsZero() || c.voided && c.began == none {
			continue
		}
		name := tickName(c.Job, c.Tick)
		if before := last[name]; before != nil && c.Attempt <= before.Attempt {
			list = append(list, Violation{Attempts, c.At, fmt.Sprintf(
				"%v is attempt %d of tick %s, %v was attempt %d", c, c.Attempt, stamp(c.Tick), before, before.Attempt)})
		}
		last[name] = c
	}
	return list
}

// checkLatest: no run begins later than its job's policies allow.
func checkLatest(claims []*claim, r Record) []Violation {
	var list []Violation
	for _, c := range claims {
		bound := r.Rules[c.Job].Latest
		if bound == 0 || c.began == none {
			continue
		}
		if late := r.Start.Add(c.began).Sub(c.Tick); late > bound {
			list = append(list, Violation{Late, c.began, fmt.Sprintf("%v began its tick %s after %v, later than %v", c, stamp(c.Tick), late, bound)})
		}
	}
	return list
}

// checkReplaced: a run stops when the job's next tick comes, where that replaces
// it, and at once if it begins later.
func checkReplaced(claims []*claim, r Record) []Violation {
	var list []Violation
	begins := map[string]time.Time{} // from here on replicas see ticks, by their clocks
	for _, e := range r.Events {
		if _, served := begins[e.Replica]; e.What == Serving && !served {
			begins[e.Replica] = e.Tick
		}
	}
	for _, c := range claims {
		bound := r.Rules[c.Job].Replaced
		if bound == 0 || c.began == none {
			continue
		}
		due := r.Ledgers[c.Job].Due
		i := slices.IndexFunc(due, func(tick time.Time) bool {
			return tick.After(c.Tick) && tick.After(begins[c.Replica]) && !r.mayBePaused(c.Job, tick.Sub(r.Start))
		})
		if i < 0 {
			continue
		}
		end := max(due[i].Sub(r.Start)+bound, c.began+slack)
		if c.stopped == none || c.stopped > end {
			list = append(list, Violation{Replaced, end, fmt.Sprintf("%v had not stopped %v after tick %s came to replace it", c, bound, stamp(due[i]))})
		}
	}
	return list
}

// pauseDelay is how long it takes at most until all know of a pause, or of its
// end, by all clocks.
const pauseDelay = 3 * time.Second

// mayBePaused reports whether some replica may skip the job's tick of an instant.
func (r Record) mayBePaused(job string, at time.Duration) bool {
	paused := false
	for _, e := range r.Events {
		switch {
		case e.Job != job:
		case e.What == Paused && e.At-pauseDelay <= at:
			paused = true
		case e.What == Resumed && e.At+pauseDelay <= at:
			paused = false
		}
	}
	return paused
}

// checkLimits: at no instant do more runs of a group work than it allows. A run
// works until its context has ended, it has returned, or its process died.
func checkLimits(claims []*claim, r Record) []Violation {
	type step struct {
		at time.Duration
		by int
		c  *claim
	}
	steps := map[string][]step{}
	for _, c := range claims {
		group := r.Rules[c.Job].Group
		if _, limited := r.Limits[group]; !limited || c.began == none || c.stopped == none {
			continue // one that never stops breaks another promise
		}
		steps[group] = append(steps[group], step{c.began, 1, c}, step{c.stopped, -1, c})
	}
	var list []Violation
	for group, steps := range steps {
		slices.SortStableFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
		working := 0
		for _, s := range steps {
			if working += s.by; s.by > 0 && working > r.Limits[group] {
				list = append(list, Violation{Limit, s.at, fmt.Sprintf("%v is the %d. run of group %s, which allows %d", s.c, working, group, r.Limits[group])})
			}
		}
	}
	return list
}

// checkPauses: from a while after a job was paused until it is resumed, no run of
// it begins, unless its tick had come due before, or is due when the pause has ended: a replica
// whose clock is ahead begins that one early.
func checkPauses(claims []*claim, r Record) []Violation {
	if r.Heard == 0 {
		return nil
	}
	var list []Violation
	for _, c := range claims {
		var since, until time.Duration
		paused := false
		for _, e := range r.Events {
			switch {
			case e.Job != c.Job || e.At >= c.began:
			case e.What == Paused:
				since, until, paused = e.At, e.Until, true
			case e.What == Resumed:
				paused = false
			}
		}
		paused = paused && (until == 0 || c.Tick.Before(r.Start.Add(until)))
		if heard := since + r.Heard; paused && c.began > heard && c.Tick.After(r.Start.Add(heard)) {
			list = append(list, Violation{Pause, c.began, fmt.Sprintf("%v begins, and %s was paused at %v", c, c.Job, since)})
		}
	}
	return list
}

// checkAgain: no tick of a job that is run again stays interrupted.
func checkAgain(r Record) []Violation {
	var list []Violation
	end := r.end()
	for _, job := range slices.Sorted(maps.Keys(r.Ledgers)) {
		for _, l := range r.Ledgers[job].Lines {
			if r.Rules[job].Again && l.Outcome == "interrupted" {
				list = append(list, Violation{Again, end, fmt.Sprintf("tick %s of %s stays interrupted: %s", stamp(l.Tick), job, l.Reason)})
			}
		}
	}
	return list
}
