package schedule

import (
	"slices"
	"strings"
	"time"
)

// Union ticks whenever one of the schedules does, once at instants that several
// of them have.
func Union(schedules ...Schedule) Schedule {
	if len(schedules) == 1 {
		return schedules[0]
	}
	return union(slices.Clone(schedules))
}

type union []Schedule

// Next implements Schedule.
func (u union) Next(after time.Time) time.Time {
	var first time.Time
	for _, s := range u {
		if tick := s.Next(after); first.IsZero() || !tick.IsZero() && tick.Before(first) {
			first = tick
		}
	}
	return first
}

// plan is excluded where no member has the tick otherwise.
func (u union) plan(after time.Time, excluded bool) Planned {
	var first []Planned
	for _, s := range u {
		p := plan(s, after, excluded)
		switch {
		case p.Tick.IsZero():
		case len(first) == 0 || p.Tick.Before(first[0].Tick):
			first = []Planned{p}
		case p.Tick.Equal(first[0].Tick):
			first = append(first, p)
		}
	}
	if len(first) == 0 {
		return Planned{}
	}
	if !slices.ContainsFunc(first, ticks) {
		return first[0]
	}
	var notes []string
	for _, p := range first {
		if ticks(p) && p.Note != "" && !slices.Contains(notes, p.Note) {
			notes = append(notes, p.Note)
		}
	}
	return Planned{Tick: first[0].Tick, Note: strings.Join(notes, "; ")}
}

func ticks(p Planned) bool { return !p.Excluded }
