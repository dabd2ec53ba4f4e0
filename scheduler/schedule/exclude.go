package schedule

import (
	"fmt"
	"strings"
	"time"
)

// Exclude removes the ticks of s that lie in one of the calendars. They do not exist: they
// are neither missed nor caught up.
//
// Days are in the calendar's own zone if it has one, else in that of a cron spec, else in
// the given one (UTC if nil). The schedule ends after 2199, like calendars. It is an error
// if no tick remains.
func Exclude(s Schedule, zone *time.Location, calendars ...*Calendar) (Schedule, error) {
	if len(calendars) == 0 {
		return s, nil
	}
	if zone == nil {
		zone = time.UTC
	}
	s = exclude(s, zone, calendars)
	if s.Next(time.Time{}).IsZero() {
		return nil, fmt.Errorf("%w: %s leaves none of its ticks; remove it from the list, or write another schedule", errNoTicks, calendarNames(calendars))
	}
	return s, nil
}

// exclude wraps the members of a union one by one: each has its own zone.
func exclude(s Schedule, zone *time.Location, calendars []*Calendar) Schedule {
	switch s := s.(type) {
	case union:
		members := make(union, len(s))
		for i, member := range s {
			members[i] = exclude(member, zone, calendars)
		}
		return members
	case *zoned:
		zone = s.loc
	}
	return excluding{s, zone, calendars}
}

type excluding struct {
	Schedule
	zone      *time.Location
	calendars []*Calendar
}

// Next implements Schedule.
func (e excluding) Next(after time.Time) time.Time {
	for {
		tick := e.Schedule.Next(after)
		if tick.IsZero() || tick.Unix() >= calendarsEnd {
			return time.Time{}
		}
		free := tick.Unix()
		for _, c := range e.calendars {
			free = max(free, c.freeFrom(tick.Unix(), e.zone))
		}
		if free == tick.Unix() {
			return tick
		}
		after = time.Unix(free, -1)
	}
}

func (e excluding) plan(after time.Time, excluded bool) Planned {
	if !excluded {
		after = before(e.Next(after))
	}
	p := plan(e.Schedule, after, excluded)
	if p.Tick.IsZero() || p.Tick.Unix() >= calendarsEnd {
		return Planned{}
	}
	for _, c := range e.calendars {
		if at := p.Tick.Unix(); !p.Excluded && c.freeFrom(at, e.zone) != at {
			p.Excluded, p.Note = true, "excluded by "+c.name
		}
	}
	return p
}

// before is the last instant after which tick is the next one. The zero time, after all
// others, means none.
func before(tick time.Time) time.Time {
	if tick.IsZero() {
		return time.Unix(calendarsEnd, 0)
	}
	return tick.Add(-time.Nanosecond)
}

func calendarNames(calendars []*Calendar) string {
	names := make([]string, len(calendars))
	for i, c := range calendars {
		names[i] = c.name
	}
	if len(names) == 1 {
		return "calendar " + names[0]
	}
	return "calendars " + strings.Join(names, ", ")
}
