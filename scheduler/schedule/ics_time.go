package schedule

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// event reads when the event takes place.
func (lines icsEvent) event() (e event, err error) {
	start, end, duration, rule := lines["DTSTART"], lines["DTEND"], lines["DURATION"], lines["RRULE"]
	if start.name == "" {
		return e, lines["BEGIN"].fail("the event has no DTSTART")
	}
	e, err = start.time()
	switch {
	case err != nil:
	case end.name != "" && duration.name != "":
		err = duration.fail("the event has DTEND and DURATION: remove one")
	case end.name != "":
		err = e.until(end, start)
	case duration.name != "":
		err = e.lasting(duration, start)
	case start.wholeDay():
		e.Days = 1
	default:
		err = start.fail("the event has a time of day but no end, so it excludes nothing: add DTEND or DURATION")
	}
	if err == nil && rule.name != "" {
		err = e.repeat(rule, start)
	}
	return e, err
}

// until sets the end, which must be written like the start.
func (e *event) until(l, start contentLine) error {
	end, err := l.time()
	if err != nil {
		return err
	}
	if l.wholeDay() != start.wholeDay() || (end.Zone.Location == nil) != (e.Zone.Location == nil) {
		return l.fail("DTEND is of another kind than DTSTART: write both as dates, both in UTC, or both with TZID")
	}
	e.Seconds = end.lasts(end.Start.Time).start - e.lasts(e.Start.Time).start
	if e.Seconds <= 0 {
		return l.fail("DTEND is not after DTSTART: it is the first day, or second, that is not part of the event")
	}
	if e.Zone.Location == nil {
		e.Days, e.Seconds = int(e.Seconds/secondsPerDay), e.Seconds%secondsPerDay
	}
	return nil
}

var (
	durationForm = regexp.MustCompile(`^\+?P((?:[0-9]{1,5}[WD])*)(T(?:[0-9]{1,5}[HMS])+)?$`)
	quantities   = regexp.MustCompile(`([0-9]+)([A-Z])`)
)

// lasting reads such as P1D, P2W and PT1H30M.
func (e *event) lasting(l, start contentLine) error {
	const longest = 32 // bytes: no sum of these overflows
	text := strings.ToUpper(l.value)
	form := durationForm.FindStringSubmatch(text)
	if len(text) > longest || form == nil || form[1]+form[2] == "" {
		return l.fail("DURATION %q is not understood: write such as P1D, P2W or PT1H30M", l.value)
	}
	for _, q := range quantities.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(q[1]) // five digits at most
		switch q[2] {
		case "W":
			e.Days += 7 * n
		case "D":
			e.Days += n
		case "H":
			e.Seconds += int64(n) * 3600
		case "M":
			e.Seconds += int64(n) * 60
		case "S":
			e.Seconds += int64(n)
		}
	}
	if e.Days == 0 && e.Seconds == 0 || start.wholeDay() && form[2] != "" {
		return l.fail("DURATION %s does not fit: write whole days for an event of whole days, and more than nothing", l.value)
	}
	return nil
}

const icsDate, icsTime = "20060102", "20060102T150405"

func (l contentLine) wholeDay() bool { return len(l.value) == len(icsDate) }

// time reads 20261225, 20261224T120000 and 20261224T120000Z; of the event it
// returns the start and its zone.
func (l contentLine) time() (e event, err error) {
	layout := icsTime
	if l.wholeDay() {
		layout = icsDate
	}
	text, utc := strings.CutSuffix(l.value, "Z")
	if e.Start.Time, err = time.Parse(layout, text); err != nil {
		return e, l.fail("%s %q is not understood: write such as 20261225, 20261224T120000 or 20261224T120000Z", l.name, l.value)
	}
	if year := e.Start.Year(); year < firstYear || year > lastYear {
		return e, l.fail("%s %q has a year out of range: %d to %d", l.name, l.value, firstYear, lastYear)
	}
	switch {
	case utc:
		e.Zone.Location = time.UTC
	case l.zone != "" && !l.wholeDay():
		if e.Zone.Location, err = LoadZone(l.zone); err != nil {
			return e, l.fail("TZID: %v", err)
		}
	}
	return e, nil
}
