package schedule

import (
	"slices"
	"strings"
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
