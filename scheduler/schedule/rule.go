package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A dayRule selects at most one day of every month, for L, W and #.
type dayRule interface {
	// day returns the day of the month, 0 if that month has none.
	day(m month) int
	// words returns, for example, "the last day".
	words() string
}

// A dateRule is L, L-n, nW, LW or L-nW.
type dateRule struct {
	fromEnd bool
	n       int  // the day or, fromEnd, the number of days before the last one
	nearest bool // W: the weekday nearest to it, within the month
}

func (r dateRule) day(m month) int {
	day := r.n
	if r.fromEnd {
		day = m.days - r.n
	}
	if day < 1 || day > m.days {
		return 0
	}
	if !r.nearest {
		return day
	}
	switch weekday := m.weekday(day); {
	case weekday == time.Saturday && day == 1:
		return 3
	case weekday == time.Saturday:
		return day - 1
	case weekday == time.Sunday && day == m.days:
		return day - 2
	case weekday == time.Sunday:
		return day + 1
	}
	return day
}

// A weekdayRule is d#n or dL.
type weekdayRule struct {
	weekday time.Weekday
	nth     int // 0: the last
}

func (r weekdayRule) day(m month) int {
	first := 1 + int(r.weekday-m.first+7)%7
	if r.nth == 0 {
		return first + (m.days-first)/7*7
	}
	if day := first + (r.nth-1)*7; day <= m.days {
		return day
	}
	return 0
}

// hasRule reports whether an entry of a day field has an L, W or #.
func (k fieldKind) hasRule(entry string) bool {
	upper := strings.ToUpper(entry)
	switch {
	case k.is(domField):
		return strings.HasPrefix(upper, "L") || strings.HasSuffix(upper, "W")
	case k.is(dowField):
		return strings.Contains(upper, "#") || strings.HasSuffix(upper, "L")
	}
	return false
}

func (k fieldKind) rule(entry string) (dayRule, error) {
	if k.is(domField) {
		return k.dateRule(entry)
	}
	return k.weekdayRule(entry)
}

func (k fieldKind) dateRule(entry string) (dayRule, error) {
	rest, nearest := strings.CutSuffix(strings.ToUpper(entry), "W")
	r := dateRule{nearest: nearest}
	rest, r.fromEnd = strings.CutPrefix(rest, "L")
	switch before, dashed := strings.CutPrefix(rest, "-"); {
	case r.fromEnd && rest == "":
		return r, nil
	case r.fromEnd:
		n, ok := number(before)
		if !dashed || !ok || n < 1 || n > 30 {
			return nil, fmt.Errorf("%q is not a valid day from the end of the month: write L for the last day, L-1 to L-30 for those before", entry)
		}
		r.n = n
		return r, nil
	}
	n, ok := number(rest)
	if !ok || n < k.min || n > k.max {
		return nil, fmt.Errorf("%q is not a valid day with W: write 15W for the weekday nearest to day 15, LW for the last weekday", entry)
	}
	r.n = n
	return r, nil
}

var errLastWeekday = errors.New(`an L alone is no day of the week: write friL or 5L for the last Friday, or L in the field for the day of the month`)

func (k fieldKind) weekdayRule(entry string) (dayRule, error) {
	text, nthText, numbered := strings.Cut(entry, "#")
	nth := 0
	if numbered {
		var ok bool
		if nth, ok = number(nthText); !ok || nth < 1 || nth > 5 {
			return nil, fmt.Errorf("%q is not a valid nth weekday: write fri#1 to fri#5, or friL for the last", entry)
		}
	} else {
		text = text[:len(text)-1]
		if text == "" {
			return nil, errLastWeekday
		}
	}
	weekday, err := k.value(text)
	if err != nil {
		return nil, err
	}
	return weekdayRule{time.Weekday(k.wrap(weekday)), nth}, nil
}

func (r dateRule) words() string {
	var day string
	switch {
	case !r.fromEnd:
		day = "day " + strconv.Itoa(r.n)
	case r.n == 0 && r.nearest:
		return "the last weekday"
	case r.n == 0:
		day = "the last day"
	case r.n == 1:
		day = "the day before the last"
	default:
		day = "the " + ordinal(r.n) + " day before the last"
	}
	if r.nearest {
		return "the weekday nearest to " + day
	}
	return day
}

func (r weekdayRule) words() string {
	if r.nth == 0 {
		return "the last " + r.weekday.String()
	}
	return "the " + ordinal(r.nth) + " " + r.weekday.String()
}
