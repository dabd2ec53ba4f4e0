package schedule

import (
	"slices"
	"strings"
)

// AddICS takes in the events of an iCalendar file (RFC 5545): those of whole
// days, and those with hours, which exclude just these. Times that name no zone
// are in that of the calendar. Events may come again every year (FREQ=YEARLY
// with INTERVAL, COUNT and UNTIL); cancelled ones are left out.
//
// What it does not understand and could exclude wrongly it refuses: other
// rules, exceptions, zones that are not of IANA. The error is a *CalendarError.
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
	if !r.calendar || len(r.open) > 0 {
		return &CalendarError{1 + strings.Count(text, "\n"), "the file is no iCalendar file, or cut off: BEGIN:VCALENDAR to END:VCALENDAR belong around it"}
	}
	c.addStretches(r.stretches)
	return nil
}

// An icsReader collects events.
type icsReader struct {
	open      []string // components, outermost first
	calendar  bool     // one was begun
	event     icsEvent // the one being read
	stretches []stretch
}

var eventPath = []string{"VCALENDAR", "VEVENT"}

func (r *icsReader) read(l contentLine) error {
	component := strings.ToUpper(l.value)
	switch {
	case l.name == "BEGIN":
		if (component == "VCALENDAR") != (len(r.open) == 0) {
			return l.fail("%s begins out of place: components stand between BEGIN:VCALENDAR and END:VCALENDAR", component)
		}
		r.calendar = true
		r.open = append(r.open, component)
		if slices.Equal(r.open, eventPath) {
			r.event = icsEvent{begin: l}
		}
	case l.name == "END":
		if len(r.open) == 0 || r.open[len(r.open)-1] != component {
			return l.fail("END:%s ends nothing: is a line missing?", component)
		}
		if slices.Equal(r.open, eventPath) {
			if err := r.finish(); err != nil {
				return err
			}
		}
		r.open = r.open[:len(r.open)-1]
	case len(r.open) == 0:
		return l.fail("stands outside of BEGIN:VCALENDAR and END:VCALENDAR: is this an .ics file?")
	case slices.Equal(r.open, eventPath):
		return r.event.set(l)
	}
	return nil
}

// finish takes in the event that was read.
func (r *icsReader) finish() error {
	if r.event.cancelled {
		return nil
	}
	s, err := r.event.stretch()
	if err != nil {
		return err
	}
	if rule := r.event.rule; rule.name != "" {
		if s.years, err = rule.yearly(s); err != nil {
			return err
		}
	}
	r.stretches = append(r.stretches, s)
	return nil
}

// An icsEvent holds the lines of an event that matter.
type icsEvent struct {
	begin, start, end, duration, rule contentLine
	cancelled                         bool
}

func (e *icsEvent) set(l contentLine) error {
	kept := map[string]*contentLine{"DTSTART": &e.start, "DTEND": &e.end, "DURATION": &e.duration, "RRULE": &e.rule}
	switch l.name {
	case "STATUS":
		e.cancelled = strings.EqualFold(l.value, "CANCELLED")
	case "RDATE", "EXDATE", "EXRULE", "RECURRENCE-ID":
		return l.fail("%s is not understood: write these days in the configuration, or as events of their own", l.name)
	}
	if to := kept[l.name]; to != nil {
		if to.name != "" {
			return l.fail("%s appears twice in an event: remove one", l.name)
		}
		*to = l
	}
	return nil
}
