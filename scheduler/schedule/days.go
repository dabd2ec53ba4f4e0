package schedule

import (
	"math/bits"
	"slices"
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
