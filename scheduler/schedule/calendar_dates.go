package schedule

import (
	"fmt"
	"strings"
	"time"
)

// Add adds days:
//
//	2026-12-25                 a day
//	2026-12-24..2027-01-01     days, the last one included
//	*-12-25                    a day of every year; *-02-29 only of leap years
//	*-12-24..*-01-01           days of every year
//
// Years are 1970 to 2199.
func (c *Calendar) Add(days string) error {
	firstText, lastText, ranged := strings.Cut(days, "..")
	if !ranged {
		lastText = firstText
	}
	first, err := readDay(firstText)
	if err != nil {
		return err
	}
	last, err := readDay(lastText)
	if err != nil {
		return err
	}
	switch {
	case first.yearly != last.yearly:
		return fmt.Errorf("%q mixes a year with every year: write both days with a year, or both with *", days)
	case !first.yearly && last.day.Before(first.day):
		return fmt.Errorf("%q runs backwards: write %s..%s", days, lastText, firstText)
	case first.yearly && ranged && (first.leap() || last.leap()):
		return fmt.Errorf("%q has an end that most years do not have: write *-02-28 or *-03-01", days)
	}
	ranges := []timeRange{wholeDays(first.day, last.day)}
	if first.yearly {
		ranges = everyYear(first.day, last.day)
	}
	c.days, c.civil = append(c.days, days), c.civil.add(ranges...)
	return nil
}

// A calendarDay is one of a certain year, or one of every year; day then is in
// a leap year before all that count.
type calendarDay struct {
	day    time.Time // midnight, civil
	yearly bool
}

func (d calendarDay) leap() bool { return d.day.Month() == time.February && d.day.Day() == 29 }

func readDay(text string) (calendarDay, error) {
	rest, yearly := strings.CutPrefix(text, "*-")
	if yearly {
		rest = "1968-" + rest
	}
	day, err := time.Parse(time.DateOnly, rest)
	switch {
	case err != nil:
		return calendarDay{}, fmt.Errorf("%q is not a day: write one such as 2026-12-25, days such as 2026-12-24..2027-01-01, or *-12-25 for every year", text)
	case !yearly && (day.Year() < firstYear || day.Year() > lastYear):
		return calendarDay{}, fmt.Errorf("%q has a year out of range: write %d to %d", text, firstYear, lastYear)
	}
	return calendarDay{day, yearly}, nil
}

// wholeDays is from the first day's midnight to the midnight after the last day.
func wholeDays(first, last time.Time) timeRange {
	return timeRange{first.Unix(), last.Unix() + secondsPerDay}
}

// everyYear repeats days in all years that have the first one. A last day before the first
// is in the next year.
func everyYear(first, last time.Time) []timeRange {
	wraps := 0
	if last.Before(first) {
		wraps = 1
	}
	var all []timeRange
	for _, start := range (event{Start: civilTime{first}, Interval: 1}).starts() {
		all = append(all, wholeDays(start, inYear(last, start.Year()+wraps)))
	}
	return all
}
