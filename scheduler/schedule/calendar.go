package schedule

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// A Calendar is a set of days and times without ticks, such as public holidays: see
// Exclude. Fill it before use.
type Calendar struct {
	name   string
	zone   *time.Location // nil: that of the schedule
	days   []string       // as they were added
	events []event        // of .ics files
	// civil are on the wall clock of the zone, in civil seconds; exact are in
	// Unix seconds.
	civil, exact timeRanges
}

// NewCalendar returns an empty calendar. Its days are days in the zone or, if that is nil,
// in the zone of each schedule.
func NewCalendar(name string, zone *time.Location) *Calendar {
	return &Calendar{name: name, zone: zone}
}

// Name returns the name given to NewCalendar.
func (c *Calendar) Name() string { return c.name }

func (c *Calendar) addEvents(events []event) {
	c.events = append(c.events, events...)
	var civil, exact []timeRange
	for _, e := range events {
		for _, start := range e.starts() {
			if e.Zone.Location == nil {
				civil = append(civil, e.lasts(start))
			} else {
				exact = append(exact, e.lasts(start))
			}
		}
	}
	c.civil, c.exact = c.civil.add(civil...), c.exact.add(exact...)
}

// freeFrom returns the first second from at on that may not be excluded. Times are Unix
// seconds.
func (c *Calendar) freeFrom(at int64, zone *time.Location) int64 {
	free := max(at, c.exact.end(at))
	if len(c.civil) == 0 {
		return free
	}
	seg := segmentAt(cmp.Or(c.zone, zone), at)
	if end := c.civil.end(at + seg.offset); end > at+seg.offset {
		// Civil time is continuous only until the clocks change.
		free = max(free, min(end-seg.offset, seg.end))
	}
	return free
}

// storedCalendar is a calendar as it is published and compared.
type storedCalendar struct {
	Name   string   `json:"name"`
	Zone   zoneName `json:"zone,omitzero"`
	Days   []string `json:"days,omitempty"`
	Events []event  `json:"events,omitempty"`
}

// MarshalJSON writes all that the calendar holds: equal texts, equal days.
func (c *Calendar) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedCalendar{c.name, zoneName{c.zone}, c.days, c.events})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Calendar) UnmarshalJSON(text []byte) error {
	var stored storedCalendar
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	*c = Calendar{name: stored.Name, zone: stored.Zone.Location}
	for _, days := range stored.Days {
		if err := c.Add(days); err != nil {
			return err
		}
	}
	c.addEvents(stored.Events)
	return nil
}

// calendarsEnd is the Unix second after all that a calendar can hold:
// 2200-01-01T00:00:00Z.
const calendarsEnd = 7258118400

// A timeRange is a range of seconds, without its end.
type timeRange struct{ start, end int64 }

// timeRanges are in order, and neither overlap nor touch.
type timeRanges []timeRange

// end returns the end of the range that holds at, or 0.
func (r timeRanges) end(at int64) int64 {
	i, found := slices.BinarySearchFunc(r, at, func(r timeRange, at int64) int { return cmp.Compare(r.start, at) })
	if !found {
		i--
	}
	if i < 0 || r[i].end <= at {
		return 0
	}
	return r[i].end
}

// add returns r with more ranges.
func (r timeRanges) add(more ...timeRange) timeRanges {
	all := slices.Concat(r, more)
	slices.SortFunc(all, func(a, b timeRange) int { return cmp.Compare(a.start, b.start) })
	merged := all[:0]
	for _, next := range all {
		if last := len(merged) - 1; last >= 0 && next.start <= merged[last].end {
			merged[last].end = max(merged[last].end, next.end)
		} else {
			merged = append(merged, next)
		}
	}
	return merged
}
