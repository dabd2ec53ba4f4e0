package schedule

import (
	"slices"
	"strings"
	"time"
)

// Union ticks whenever one of the schedules does, once per instant.
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

// plan is excluded if every member with the tick excludes it.
func (u union) plan(after time.Time, excluded bool) Planned {
	var first Planned
	for _, s := range u {
		p := plan(s, after, excluded)
		same := p.Tick.Equal(first.Tick)
		switch {
		case p.Tick.IsZero() || same && p.Excluded:
		case first.Tick.IsZero() || p.Tick.Before(first.Tick) || same && first.Excluded:
			first = p
		case same && !strings.Contains(first.Note, p.Note):
			first.note(p.Note)
		}
	}
	return first
}
