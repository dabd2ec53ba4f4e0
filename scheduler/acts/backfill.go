package acts

import (
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// Backfill returns the ticks of a backfill, oldest first: those in its range before the
// request. It returns at most MaxBackfill + 1.
func (a Act) Backfill(s schedule.Schedule) []time.Time {
	end := a.To
	if !a.At.IsZero() && a.At.Before(end) {
		end = a.At
	}
	var ticks []time.Time
	for t := s.Next(a.From.Add(-1)); !t.IsZero() && t.Before(end) && len(ticks) <= MaxBackfill; t = s.Next(t) {
		ticks = append(ticks, t)
	}
	return ticks
}
