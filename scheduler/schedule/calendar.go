package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	first, _ := slices.BinarySearchFunc(r, at+1, func(r timeRange, end int64) int { return cmp.Compare(r.end, end) })
	if first == len(r) || r[first].start > at { // the first that ends after at
		return 0
	}
	return r[first].end
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

// Add adds days:
//
//	2026-12-25                 a day
//	2026-12-24..2027-01-01     days, the last one included
//	*-12-25                    a day of every year; *-02-29 only of leap years
//	*-12-24..*-01-01           days of every year
//
// Years are 1970 to 2199.
func (c *Calendar) Add(days string) error {
	firstText, lastText, ranged := strings.Cut(days, "..")
	if !ranged {
		lastText = firstText
	}
	first, err := readDay(firstText)
	if err != nil {
		return err
	}
	last, err := readDay(lastText)
	if err != nil {
		return err
	}
	switch {
	case first.yearly != last.yearly:
		return fmt.Errorf("%q mixes a year with every year: write both days with a year, or both with *", days)
	case !first.yearly && last.day.Before(first.day):
		return fmt.Errorf("%q runs backwards: write %s..%s", days, lastText, firstText)
	case first.yearly && ranged && (first.leap() || last.leap()):
		return fmt.Errorf("%q has an end that most years do not have: write *-02-28 or *-03-01", days)
	}
	ranges := []timeRange{wholeDays(first.day, last.day)}
	if first.yearly {
		ranges = everyYear(first.day, last.day)
	}
	c.days, c.civil = append(c.days, days), c.civil.add(ranges...)
	return nil
}

// A calendarDay is one of a certain year, or one of every year; day then is in
// a leap year before all that count.
type calendarDay struct {
	day    time.Time // midnight, civil
	yearly bool
}

func (d calendarDay) leap() bool { return d.day.Month() == time.February && d.day.Day() == 29 }

func readDay(text string) (calendarDay, error) {
	rest, yearly := strings.CutPrefix(text, "*-")
	if yearly {
		rest = "1968-" + rest
	}
	day, err := time.Parse(time.DateOnly, rest)
	switch {
	case err != nil:
		return calendarDay{}, fmt.Errorf("%q is not a day: write one such as 2026-12-25, days such as 2026-12-24..2027-01-01, or *-12-25 for every year", text)
	case !yearly && (day.Year() < firstYear || day.Year() > lastYear):
		return calendarDay{}, fmt.Errorf("%q has a year out of range: write %d to %d", text, firstYear, lastYear)
	}
	return calendarDay{day, yearly}, nil
}

// wholeDays is from the first day's midnight to the midnight after the last day.
func wholeDays(first, last time.Time) timeRange {
	return timeRange{first.Unix(), last.Unix() + secondsPerDay}
}

// everyYear repeats days in all years that have the first one. A last day before the first
// is in the next year.
func everyYear(first, last time.Time) []timeRange {
	wraps := 0
	if last.Before(first) {
		wraps = 1
	}
	var all []timeRange
	for _, start := range (event{Start: civilTime{first}, Interval: 1}).starts() {
		all = append(all, wholeDays(start, inYear(last, start.Year()+wraps)))
	}
	return all
}

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
	s = exclude(s, cmp.Or(zone, time.UTC), calendars)
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
		next := e.Next(after)
		if next.IsZero() {
			return Planned{}
		}
		after = next.Add(-time.Nanosecond)
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

// An event is a time without ticks: from a civil time on for some days, and then
// for some seconds. It is published like this.
type event struct {
	Start    civilTime `json:"start"`
	Zone     zoneName  `json:"zone,omitzero"` // zero: the calendar's
	Days     int       `json:"days,omitempty"`
	Seconds  int64     `json:"seconds,omitempty"`
	Interval int       `json:"interval,omitempty"` // in years; 0: it never comes again
	Count    int       `json:"count,omitempty"`    // 0: without end
	Until    civilTime `json:"until,omitzero"`     // the last start; zero: without end
}

// starts returns when it starts, up to lastYear. Years without a 29 February do
// not count.
func (e event) starts() []time.Time {
	if e.Interval <= 0 {
		return []time.Time{e.Start.Time}
	}
	var all []time.Time
	for year := e.Start.Year(); year <= lastYear && (e.Count == 0 || len(all) < e.Count); year += e.Interval {
		start := inYear(e.Start.Time, year)
		if !e.Until.IsZero() && start.After(e.Until.Time) {
			break
		}
		if start.Day() == e.Start.Day() {
			all = append(all, start)
		}
	}
	return all
}

// lasts is the range that begins at a civil time: in Unix seconds, or civil ones if
// the event has no zone.
func (e event) lasts(start time.Time) timeRange {
	zone := cmp.Or(e.Zone.Location, time.UTC)
	begin := time.Date(start.Year(), start.Month(), start.Day(), start.Hour(), start.Minute(), start.Second(), 0, zone)
	return timeRange{begin.Unix(), begin.AddDate(0, 0, e.Days).Unix() + e.Seconds}
}

// inYear moves a civil time to another year; 29 February may become 1 March.
func inYear(t time.Time, year int) time.Time {
	return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// A civilTime is what a wall clock shows, in UTC.
type civilTime struct{ time.Time }

const civilLayout = `"2006-01-02T15:04:05"`

// MarshalJSON writes no zone.
func (t civilTime) MarshalJSON() ([]byte, error) { return []byte(t.Format(civilLayout)), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *civilTime) UnmarshalJSON(text []byte) (err error) {
	t.Time, err = time.Parse(civilLayout, string(text))
	return err
}
