package scheduler

import "time"

// Planned is a tick to come.
type Planned struct {
	Tick time.Time
	// Note says what a change of the clocks does to the tick; "" if nothing.
	Note string
}

// Preview returns the next n ticks after from, fewer if the schedule ends.
func Preview(s Schedule, from time.Time, n int) []Planned {
	planned := []Planned{}
	noter, _ := s.(interface{ note(time.Time) string })
	for tick := s.Next(from); len(planned) < n && !tick.IsZero(); tick = s.Next(tick) {
		p := Planned{Tick: tick}
		if noter != nil {
			p.Note = noter.note(tick)
		}
		planned = append(planned, p)
	}
	return planned
}
