package schedule

import (
	"strconv"
	"strings"
	"time"
)

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
