package scheduler

import "time"

// Planned is a tick to come.
type Planned struct {
	Tick time.Time
	// Note says what a change of the clocks does to the tick, whether it is the
	// first or the last, or which calendar takes it away; "" if nothing.
	Note string
	// Excluded: a calendar takes the tick away, so that there is none.
	Excluded bool
}

func (p *Planned) note(text string) {
	if p.Note != "" {
		p.Note += "; "
	}
	p.Note += text
}

// Preview returns the next n ticks after from, fewer if the schedule ends.
func Preview(s Schedule, from time.Time, n int) []Planned { return preview(s, from, n, false) }

// PreviewExcluded is Preview with the ticks that calendars take away. They count
// for n.
func PreviewExcluded(s Schedule, from time.Time, n int) []Planned { return preview(s, from, n, true) }

func preview(s Schedule, from time.Time, n int, excluded bool) []Planned {
	planned := []Planned{}
	for p := plan(s, from, excluded); len(planned) < n && !p.Tick.IsZero(); p = plan(s, p.Tick, excluded) {
		planned = append(planned, p)
	}
	return planned
}

// Coming returns the next n ticks of the job that start after from, and with excluded
// those that calendars take away, which count for n. The first of them may be one whose
// nominal time has passed: jitter makes it start later.
func (j Job) Coming(from time.Time, n int, excluded bool) []Planned {
	coming := []Planned{}
	early := from.Add(-max(j.Jitter, 0))
	for p := plan(j.Schedule, early, excluded); len(coming) < n && !p.Tick.IsZero(); p = plan(j.Schedule, p.Tick, excluded) {
		if p.Tick.After(from) || !p.Excluded && j.Start(p.Tick).After(from) {
			coming = append(coming, p)
		}
	}
	return coming
}

// A planner is a Schedule that has something to say of its ticks.
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
