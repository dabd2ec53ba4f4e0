package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// A month is a month of one year.
type month struct {
	days  int
	first time.Weekday // of its first day
}

func monthOf(year int, m time.Month) month {
	return month{
		days:  time.Date(year, m+1, 0, 0, 0, 0, 0, time.UTC).Day(),
		first: time.Date(year, m, 1, 0, 0, 0, 0, time.UTC).Weekday(),
	}
}

func (m month) weekday(day int) time.Weekday { return (m.first + time.Weekday(day-1)) % 7 }

// A dayFilter selects days by L, W, # and years, which robfig/cron cannot read. Sets are
// bits by value.
type dayFilter struct {
	years        []int // nil: all
	months       uint16
	dates        uint32
	weekdays     uint8
	dateRules    []dayRule
	weekdayRules []dayRule
	both         bool // a day must match both day fields: one of them is *
}

// newDayFilter returns nil if robfig/cron is enough.
func newDayFilter(f [numFields]field) *dayFilter {
	if f[domField].rules == nil && f[dowField].rules == nil && f[yearField].star {
		return nil
	}
	d := &dayFilter{
		months:       uint16(f[monthField].bits()),
		dates:        uint32(f[domField].bits()),
		weekdays:     uint8(f[dowField].bits()),
		dateRules:    f[domField].rules,
		weekdayRules: f[dowField].rules,
		both:         f[domField].star || f[dowField].star,
	}
	if !f[yearField].star {
		d.years = f[yearField].values()
	}
	return d
}

// next returns the first day from the given one on, both counted from 1970.
func (d *dayFilter) next(from int64) (int64, bool) {
	const cycle = 400 * 12 // months until weekdays repeat
	year, m, day := time.Unix(from*secondsPerDay, 0).UTC().Date()
	for range cycle + 1 {
		if later := d.in(year, m) >> day << day; later != 0 {
			first := bits.TrailingZeros32(later)
			return time.Date(year, m, first, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay, true
		}
		day = 1
		if m++; m > time.December {
			year, m = year+1, time.January
		}
	}
	return 0, false
}

// in returns the days of a month on which the spec ticks.
func (d *dayFilter) in(year int, m time.Month) uint32 {
	if d.months>>m&1 == 0 || d.years != nil && !slices.Contains(d.years, year) {
		return 0
	}
	month := monthOf(year, m)
	dates, byWeekday := d.dates, uint32(0)
	for day := 1; day <= month.days; day++ {
		byWeekday |= uint32(d.weekdays>>month.weekday(day)&1) << day
	}
	for _, r := range d.dateRules {
		dates |= 1 << r.day(month)
	}
	for _, r := range d.weekdayRules {
		byWeekday |= 1 << r.day(month)
	}
	matching := dates | byWeekday
	if d.both {
		matching = dates & byWeekday
	}
	return matching & (1<<(month.days+1) - 2) // not bit 0: rules without a day
}

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

// rule reads an entry of a day field with an L, W or #; nil if it has none.
func (k fieldKind) rule(entry string) (dayRule, error) {
	upper := strings.ToUpper(entry)
	switch {
	case k.is(domField) && (strings.HasPrefix(upper, "L") || strings.HasSuffix(upper, "W")):
		return k.dateRule(entry)
	case k.is(dowField) && (strings.Contains(upper, "#") || strings.HasSuffix(upper, "L")):
		return k.weekdayRule(entry)
	}
	return nil, nil
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
