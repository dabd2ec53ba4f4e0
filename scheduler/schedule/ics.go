package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AddICS adds the events of an iCalendar file (RFC 5545): whole days, and events with
// hours, which exclude just these. Times without a zone are in the calendar's zone. Events
// may repeat every year (FREQ=YEARLY with INTERVAL, COUNT and UNTIL); cancelled ones are
// omitted.
//
// It refuses what it does not understand and could exclude wrongly: other rules,
// exceptions, zones that are not of IANA. The error is a *CalendarError.
func (c *Calendar) AddICS(text string) error {
	lines, err := contentLines(text)
	if err != nil {
		return err
	}
	var r icsReader
	for _, l := range lines {
		if err := r.read(l); err != nil {
			return err
		}
	}
	if len(lines) == 0 || len(r.open) > 0 {
		return &CalendarError{1 + strings.Count(text, "\n"), "the file is no iCalendar file, or cut off: BEGIN:VCALENDAR to END:VCALENDAR belong around it"}
	}
	c.addEvents(r.events)
	return nil
}

// An icsReader collects events.
type icsReader struct {
	open   []string // components, outermost first
	lines  icsEvent // of the event being read
	events []event
}

var eventPath = []string{"VCALENDAR", "VEVENT"}

func (r *icsReader) read(l contentLine) error {
	component, inEvent := strings.ToUpper(l.value), slices.Equal(r.open, eventPath)
	switch {
	case l.name == "BEGIN" && (component == "VCALENDAR") != (len(r.open) == 0):
		return l.fail("%s begins out of place: components stand between BEGIN:VCALENDAR and END:VCALENDAR", component)
	case l.name == "BEGIN":
		if r.open = append(r.open, component); slices.Equal(r.open, eventPath) {
			r.lines = icsEvent{"BEGIN": l}
		}
	case l.name == "END" && (len(r.open) == 0 || r.open[len(r.open)-1] != component):
		return l.fail("END:%s ends nothing: is a line missing?", component)
	case l.name == "END":
		r.open = r.open[:len(r.open)-1]
		if inEvent {
			return r.finish()
		}
	case len(r.open) == 0:
		return l.fail("stands outside of BEGIN:VCALENDAR and END:VCALENDAR: is this an .ics file?")
	case inEvent:
		return r.lines.add(l)
	}
	return nil
}

// finish adds the event that was read.
func (r *icsReader) finish() error {
	if strings.EqualFold(r.lines["STATUS"].value, "CANCELLED") {
		return nil
	}
	e, err := r.lines.event()
	r.events = append(r.events, e)
	return err
}

// An icsEvent has the lines of an event by name.
type icsEvent map[string]contentLine

func (lines icsEvent) add(l contentLine) error {
	switch l.name {
	case "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID":
		return l.fail("%s is not understood: write these days in the configuration, or as events of their own", l.name)
	case "DTSTART", "DTEND", "DURATION", "RRULE":
		if lines[l.name].name != "" {
			return l.fail("%s appears twice in an event: remove one", l.name)
		}
	}
	lines[l.name] = l
	return nil
}

// A CalendarError is an error in an .ics file, with its line.
type CalendarError struct {
	Line int // from 1
	Msg  string
}

func (e *CalendarError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// A contentLine is one property of an .ics file, unfolded: a name, parameters
// and a value.
type contentLine struct {
	line  int // of its first part
	name  string
	zone  string // the parameter TZID
	value string
}

func (l contentLine) fail(format string, args ...any) error {
	return &CalendarError{l.line, fmt.Sprintf(format, args...)}
}

// contentLines unfolds the lines of a file: a line that begins with a blank continues the
// one before.
func contentLines(text string) ([]contentLine, error) {
	var lines []contentLine
	number := 0
	for physical := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		physical = strings.TrimRight(physical, "\r\n")
		switch {
		case physical == "":
		case physical[0] != ' ' && physical[0] != '\t':
			lines = append(lines, contentLine{line: number, value: physical})
		case len(lines) == 0:
			return nil, &CalendarError{number, "goes on from a line that is not there: is the file cut off?"}
		default:
			lines[len(lines)-1].value += physical[1:]
		}
	}
	for i := range lines {
		if !lines[i].parse() {
			return nil, lines[i].fail("is not a line of an iCalendar file: NAME:VALUE belongs there")
		}
	}
	return lines, nil
}

// parse takes NAME;PARAM=VALUE;PARAM="VALUE":VALUE apart.
func (l *contentLine) parse() bool {
	quoted := false
	colon := strings.IndexFunc(l.value, func(r rune) bool {
		quoted = quoted != (r == '"')
		return r == ':' && !quoted
	})
	if colon <= 0 {
		return false
	}
	head := strings.Split(l.value[:colon], ";")
	l.name, l.value = strings.ToUpper(head[0]), l.value[colon+1:]
	for _, param := range head[1:] {
		if key, value, _ := strings.Cut(param, "="); strings.EqualFold(key, "TZID") {
			l.zone = strings.Trim(value, `"`)
		}
	}
	return l.name != ""
}

// repeat reads in which years the event comes again.
func (e *event) repeat(rule, start contentLine) error {
	e.Interval = 1
	yearly := false
	for part := range strings.SplitSeq(strings.ToUpper(rule.value), ";") {
		key, value, _ := strings.Cut(part, "=")
		n, ok := number(value)
		understood := true
		switch key {
		case "WKST": // says nothing new, like the two below
		case "BYMONTH":
			understood = value == strconv.Itoa(int(e.Start.Month()))
		case "BYMONTHDAY":
			understood = value == strconv.Itoa(e.Start.Day())
		case "FREQ":
			understood = value == "YEARLY"
			yearly = understood
		case "INTERVAL":
			e.Interval, understood = min(n, lastYear), ok && n > 0
		case "COUNT":
			e.Count, understood = n, ok && n > 0
		case "UNTIL":
			understood = e.end(contentLine{name: key, value: value}, start)
		default:
			understood = false
		}
		if !understood {
			return rule.fail("RRULE with %s is not understood, only FREQ=YEARLY with INTERVAL, COUNT and UNTIL: write the days in the configuration, or as events of their own", part)
		}
	}
	if !yearly {
		return rule.fail("RRULE has no FREQ=YEARLY: write it")
	}
	return nil
}

// end reads when the event comes for the last time.
func (e *event) end(l, start contentLine) bool {
	until, err := l.time()
	e.Until = until.Start
	switch {
	case err != nil:
	case l.wholeDay() && !start.wholeDay():
		e.Until.Time = e.Until.Add(24*time.Hour - time.Second)
	case until.Zone.Location != nil && e.Zone.Location != nil:
		// Given in UTC, wanted on the event's clock.
		_, offset := e.Until.In(e.Zone.Location).Zone()
		e.Until.Time = e.Until.Add(time.Duration(offset) * time.Second)
	}
	return err == nil
}

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
	days, seconds := map[string]int{"W": 7, "D": 1}, map[string]int{"H": 3600, "M": 60, "S": 1}
	for _, q := range quantities.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(q[1]) // five digits at most
		e.Days += n * days[q[2]]
		e.Seconds += int64(n * seconds[q[2]])
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
