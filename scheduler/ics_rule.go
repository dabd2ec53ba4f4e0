package scheduler

import (
	"strconv"
	"strings"
	"time"
)

// yearly returns when an event with the rule starts, up to lastYear.
func yearly(l contentLine, s stretch) ([]time.Time, error) {
	r := yearlyRule{interval: 1, count: lastYear, until: time.Unix(calendarsEnd, 0)}
	yearly := false
	for part := range strings.SplitSeq(strings.ToUpper(l.value), ";") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case key == "FREQ" && value == "YEARLY":
			yearly = true
		case key == "WKST" || key == "BYMONTH" && value == strconv.Itoa(int(s.start.Month())),
			key == "BYMONTHDAY" && value == strconv.Itoa(s.start.Day()): // say nothing new
		case !r.set(key, value, s):
			return nil, l.fail("RRULE with %s is not understood, only FREQ=YEARLY with INTERVAL, COUNT and UNTIL: write the days in the configuration, or as events of their own", part)
		}
	}
	if !yearly {
		return nil, l.fail("RRULE has no FREQ=YEARLY: write it")
	}
	return r.starts(s.start), nil
}

type yearlyRule struct {
	interval, count int
	until           time.Time // civil; the last start
}

func (r *yearlyRule) set(key, value string, s stretch) bool {
	n, ok := number(value)
	switch {
	case key == "INTERVAL" && ok && n > 0:
		r.interval = min(n, lastYear)
	case key == "COUNT" && ok && n > 0:
		r.count = n
	case key == "UNTIL":
		until, err := (contentLine{name: key, value: value}).time()
		if err != nil {
			return false
		}
		r.until = until.start
		switch {
		case until.wholeDay && !s.wholeDay:
			r.until = r.until.Add(24*time.Hour - time.Second)
		case until.zone != nil && s.zone != nil:
			// Given in UTC, wanted on the event's clock.
			_, offset := r.until.In(s.zone).Zone()
			r.until = r.until.Add(time.Duration(offset) * time.Second)
		}
	default:
		return false
	}
	return true
}

// starts counts from the event's own start. Years without a 29 February do not
// count.
func (r yearlyRule) starts(first time.Time) []time.Time {
	var all []time.Time
	for year := first.Year(); year <= lastYear && len(all) < r.count; year += r.interval {
		start := inYear(first, year)
		if start.After(r.until) {
			break
		}
		if start.Day() == first.Day() {
			all = append(all, start)
		}
	}
	return all
}
