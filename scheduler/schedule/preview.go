package schedule

import (
	"iter"
	"math"
	"time"
)

// Planned is a future tick.
type Planned struct {
	Tick time.Time
	// Note says how a change of the clocks affects the tick, whether it is the first or the
	// last, or which calendar excludes it; "" if nothing.
	Note string
	// Excluded: a calendar excludes the tick, so there is none.
	Excluded bool
}

func (p *Planned) note(text string) {
	if p.Note != "" {
		p.Note += "; "
	}
	p.Note += text
}

// Preview returns the next n ticks after from, fewer if the schedule ends.
func Preview(s Schedule, from time.Time, n int) []Planned {
	planned := []Planned{}
	for p := range Coming(s, from, false) {
		if len(planned) == n {
			break
		}
		planned = append(planned, p)
	}
	return planned
}

// Coming yields the ticks after from; with excluded, also those that calendars exclude.
func Coming(s Schedule, from time.Time, excluded bool) iter.Seq[Planned] {
	return func(yield func(Planned) bool) {
		for p := plan(s, from, excluded); !p.Tick.IsZero() && yield(p); {
			p = plan(s, p.Tick, excluded)
		}
	}
}

// A planner is a Schedule with notes on its ticks.
type planner interface {
	// plan is Next and, if asked for, also returns excluded ticks.
	plan(after time.Time, excluded bool) Planned
}

func plan(s Schedule, after time.Time, excluded bool) Planned {
	if p, ok := s.(planner); ok {
		return p.plan(after, excluded)
	}
	return Planned{Tick: s.Next(after)}
}

func (z *zoned) plan(after time.Time, _ bool) Planned {
	p := Planned{Tick: z.Next(after)}
	if !p.Tick.IsZero() {
		p.Note = z.note(p.Tick)
	}
	return p
}

// LeastGap returns the shortest time between two of the first thousand ticks of s from 2026
// on, which limits the jitter; false if there are none to compare. It does not depend on
// today's date, so a valid configuration stays valid.
func LeastGap(s Schedule) (time.Duration, bool) {
	least, last := time.Duration(math.MaxInt64), s.Next(time.Date(2026, 1, 1, 0, 0, 0, -1, time.UTC))
	for range 1000 {
		next := s.Next(last)
		if last.IsZero() || next.IsZero() {
			break
		}
		least, last = min(least, next.Sub(last)), next
	}
	return least, least < math.MaxInt64
}
