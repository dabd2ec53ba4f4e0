package schedule

import (
	"strconv"
	"strings"
	"time"
)

// A stretch is when an event takes place: from a civil time on for some days
// and then for some time.
type stretch struct {
	start    time.Time      // civil, in UTC
	zone     *time.Location // nil: the calendar's
	wholeDay bool
	days     int
	rest     time.Duration
	years    yearlyRule // zero: once
}

// civil is the stretch where its zone is known only later.
func (s stretch) civil(start time.Time) timeRange {
	return timeRange{start.Unix(), start.AddDate(0, 0, s.days).Add(s.rest).Unix()}
}

// exact is the stretch in its zone.
func (s stretch) exact(start time.Time) timeRange {
	begin := time.Date(start.Year(), start.Month(), start.Day(), start.Hour(), start.Minute(), start.Second(), 0, s.zone)
	return timeRange{begin.Unix(), begin.AddDate(0, 0, s.days).Add(s.rest).Unix()}
}

// stretch reads when the event takes place.
func (e icsEvent) stretch() (stretch, error) {
	if e.start.name == "" {
		return stretch{}, e.begin.fail("the event has no DTSTART")
	}
	s, err := e.start.time()
	if err != nil {
		return stretch{}, err
	}
	switch {
	case e.end.name != "" && e.duration.name != "":
		return stretch{}, e.duration.fail("the event has DTEND and DURATION: remove one")
	case e.end.name != "":
		return s.until(e.end)
	case e.duration.name != "":
		return s.lasting(e.duration)
	case !s.wholeDay:
		return stretch{}, e.start.fail("the event has a time of day but no end, so it excludes nothing: add DTEND or DURATION")
	}
	s.days = 1
	return s, nil
}

// until sets the end, which must be written like the start.
func (s stretch) until(l contentLine) (stretch, error) {
	end, err := l.time()
	if err != nil {
		return stretch{}, err
	}
	if end.wholeDay != s.wholeDay || (end.zone == nil) != (s.zone == nil) {
		return stretch{}, l.fail("DTEND is of another kind than DTSTART: write both as dates, both in UTC, or both with TZID")
	}
	if s.zone == nil {
		s.days = int(end.start.Sub(s.start) / (24 * time.Hour))
		s.rest = end.start.Sub(s.start) % (24 * time.Hour)
	} else {
		s.rest = time.Duration(end.exact(end.start).start-s.exact(s.start).start) * time.Second
	}
	if !end.start.After(s.start) && s.zone == nil || s.zone != nil && s.rest <= 0 {
		return stretch{}, l.fail("DTEND is not after DTSTART: it is the first day, or second, that is not part of the event")
	}
	return s, nil
}

// lasting reads such as P1D, P2W and PT1H30M.
func (s stretch) lasting(l contentLine) (stretch, error) {
	const longest = 30 // bytes: no sum of these overflows
	bad := l.fail("DURATION %q is not understood: write such as P1D, P2W or PT1H30M", l.value)
	text, ok := strings.CutPrefix(strings.TrimPrefix(strings.ToUpper(l.value), "+"), "P")
	date, clock, timed := strings.Cut(text, "T")
	if !ok || len(text) > longest || date == "" && clock == "" || timed && clock == "" {
		return stretch{}, bad
	}
	for date != "" {
		n, unit, rest, ok := quantity(date)
		days := map[byte]int{'W': 7, 'D': 1}[unit]
		if !ok || days == 0 {
			return stretch{}, bad
		}
		s.days, date = s.days+n*days, rest
	}
	for clock != "" {
		n, unit, rest, ok := quantity(clock)
		each := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second}[unit]
		if !ok || each == 0 {
			return stretch{}, bad
		}
		s.rest, clock = s.rest+time.Duration(n)*each, rest
	}
	if s.days == 0 && s.rest == 0 || s.wholeDay && timed {
		return stretch{}, l.fail("DURATION %s does not fit: write whole days for an event of whole days, and more than nothing", l.value)
	}
	return s, nil
}

// quantity takes a number of up to five digits and its unit from the front.
func quantity(text string) (n int, unit byte, rest string, ok bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 || digits > 5 || digits == len(text) {
		return 0, 0, "", false
	}
	n, err := strconv.Atoi(text[:digits])
	return n, text[digits], text[digits+1:], err == nil
}

// time reads 20261225, 20261224T120000 and 20261224T120000Z; of the stretch it
// returns all but how long it is.
func (l contentLine) time() (stretch, error) {
	const date, dateTime = "20060102", "20060102T150405"
	s := stretch{wholeDay: len(l.value) == len(date)}
	layout, text := dateTime, l.value
	if s.wholeDay {
		layout = date
	}
	if zulu, ok := strings.CutSuffix(text, "Z"); ok {
		text, s.zone = zulu, time.UTC
	}
	var err error
	s.start, err = time.Parse(layout, text)
	switch {
	case err != nil:
		return stretch{}, l.fail("%s %q is not understood: write such as 20261225, 20261224T120000 or 20261224T120000Z", l.name, l.value)
	case s.start.Year() < firstYear || s.start.Year() > lastYear:
		return stretch{}, l.fail("%s %q has a year out of range: %d to %d", l.name, l.value, firstYear, lastYear)
	}
	if name := l.params["TZID"]; name != "" && !s.wholeDay && s.zone == nil {
		if s.zone, err = LoadZone(name); err != nil {
			return stretch{}, l.fail("TZID: %v", err)
		}
	}
	return s, nil
}
