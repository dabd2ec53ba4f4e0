package schedule

import (
	"strconv"
	"strings"
	"time"
)

// yearly reads the rule of an event.
func (l contentLine) yearly(s stretch) (yearlyRule, error) {
	r := yearlyRule{interval: 1}
	yearly := false
	for part := range strings.SplitSeq(strings.ToUpper(l.value), ";") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case key == "FREQ" && value == "YEARLY":
			yearly = true
		case key == "WKST" || key == "BYMONTH" && value == strconv.Itoa(int(s.start.Month())),
			key == "BYMONTHDAY" && value == strconv.Itoa(s.start.Day()): // say nothing new
		case !r.set(key, value, s):
			return yearlyRule{}, l.fail("RRULE with %s is not understood, only FREQ=YEARLY with INTERVAL, COUNT and UNTIL: write the days in the configuration, or as events of their own", part)
		}
	}
	if !yearly {
		return yearlyRule{}, l.fail("RRULE has no FREQ=YEARLY: write it")
	}
	return r, nil
}

// A yearlyRule says in which years an event comes again.
type yearlyRule struct {
	interval int       // years; 0: never again
	count    int       // times; 0: without end
	until    time.Time // civil, the last start; zero: without end
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

// starts returns when an event starts that starts first at the given time, up
// to lastYear. Years without a 29 February do not count.
func (r yearlyRule) starts(first time.Time) []time.Time {
	if r.interval == 0 {
		return []time.Time{first}
	}
	var all []time.Time
	for year := first.Year(); year <= lastYear && (r.count == 0 || len(all) < r.count); year += r.interval {
		start := inYear(first, year)
		if !r.until.IsZero() && start.After(r.until) {
			break
		}
		if start.Day() == first.Day() {
			all = append(all, start)
		}
	}
	return all
}
