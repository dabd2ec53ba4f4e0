package schedule

import (
	"errors"
	"fmt"
	"time"
)

// errNoTicks refuses a schedule without any tick.
var errNoTicks = errors.New("the schedule never ticks")

// Between has the ticks of s from start on and before end; a zero time is no bound. The
// range may lie in the past, so a configuration stays valid after its last tick. A range
// without a tick is an error.
func Between(s Schedule, start, end time.Time) (Schedule, error) {
	if !start.IsZero() && !end.IsZero() && !start.Before(end) {
		return nil, fmt.Errorf("the end %s is not after the start %s: write a later end", formatBound(end), formatBound(start))
	}
	b := between{s, start, end}
	if b.Next(time.Time{}).IsZero() {
		return nil, fmt.Errorf("%w between its start and its end: write others, or another schedule", errNoTicks)
	}
	return b, nil
}

type between struct {
	Schedule
	start, end time.Time
}

// Next implements Schedule.
func (b between) Next(after time.Time) time.Time {
	tick := b.Schedule.Next(b.from(after))
	if !b.has(tick) {
		return time.Time{}
	}
	return tick
}

// from moves after to just before the start.
func (b between) from(after time.Time) time.Time {
	if after.Before(b.start) {
		return b.start.Add(-time.Nanosecond)
	}
	return after
}

func (b between) has(tick time.Time) bool { return b.end.IsZero() || tick.Before(b.end) }

func (b between) plan(after time.Time, excluded bool) Planned {
	p := plan(b.Schedule, b.from(after), excluded)
	switch {
	case !b.has(p.Tick):
		return Planned{}
	case p.Excluded:
		return p
	}
	if !b.start.IsZero() && p.Tick.Equal(b.Next(time.Time{})) {
		p.note("first tick, starts at " + formatBound(b.start))
	}
	if !b.end.IsZero() && b.Next(p.Tick).IsZero() {
		p.note("last tick, ends at " + formatBound(b.end))
	}
	return p
}

// formatBound formats the start or end of a schedule.
func formatBound(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }
