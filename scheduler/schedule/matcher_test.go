package schedule

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A matcher knows the times a spec matches, by a reading of its own: it looks
// at one time after the other and knows no way to the next.
type matcher struct {
	fields     [7][256]bool
	rules      [7][]func(day time.Time) bool // of the day fields
	anyDate    bool                          // the day of the month, or of the week, is *
	namesHours bool
}

var matcherLimits = [7][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}, {firstYear, lastYear}}

func newMatcher(t *testing.T, spec string) *matcher {
	t.Helper()
	texts := strings.Fields(spec)
	if len(texts) == 5 {
		texts = slices.Insert(texts, 0, "0")
	}
	if len(texts) == 6 {
		texts = append(texts, "*")
	}
	m := &matcher{anyDate: texts[3] == "*" || texts[5] == "*"}
	for i, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if rule := newRule(t, i, part); rule != nil {
				m.rules[i] = append(m.rules[i], rule)
				continue
			}
			m.list(t, i, part)
		}
	}
	m.namesHours = slices.Contains(m.fields[2][:24], false)
	return m
}

// list marks the values of a range with a step, going round the field.
func (m *matcher) list(t *testing.T, i int, part string) {
	t.Helper()
	smallest, largest := matcherLimits[i][0], matcherLimits[i][1]
	base, step, stepped := strings.Cut(part, "/")
	if !stepped {
		step = "1"
	}
	lo, hi, ranged := strings.Cut(base, "-")
	if base == "*" {
		lo, hi = strconv.Itoa(smallest), strconv.Itoa(largest)
	} else if !ranged {
		hi = lo
	}
	first, last, every := matcherValue(t, lo), matcherValue(t, hi), atoi(t, step)
	if i == 5 {
		first, last = first%7, last%7
	}
	for v, count := first, 0; ; count++ {
		if count%every == 0 {
			m.fields[i][max(v-firstYear*(i/6), 0)] = true
		}
		if v == last {
			return
		}
		if v++; v > largest {
			v = smallest
		}
	}
}

func matcherValue(t *testing.T, text string) int {
	t.Helper()
	if weekday := strings.Index("sunmontuewedthufrisat", text); weekday >= 0 {
		return weekday / 3
	}
	return atoi(t, text)
}

func (m *matcher) match(c clock) bool {
	for _, i := range []int{0, 1, 2, 4, 6} {
		if !m.fields[i][c[i]] {
			return false
		}
	}
	day := time.Date(firstYear+int(c[6]), time.Month(c[4]), int(c[3]), 0, 0, 0, 0, time.UTC)
	date, weekday := m.day(3, c, day), m.day(5, c, day)
	if m.anyDate {
		return date && weekday
	}
	return date || weekday
}

func (m *matcher) day(i int, c clock, day time.Time) bool {
	return m.fields[i][c[i]] || slices.ContainsFunc(m.rules[i], func(rule func(time.Time) bool) bool { return rule(day) })
}

// newRule reads an entry with L, W or #; nil if it is none.
func newRule(t *testing.T, i int, entry string) func(time.Time) bool {
	t.Helper()
	switch {
	case i == 5 && strings.Contains(entry, "#"):
		weekday, nth, _ := strings.Cut(entry, "#")
		return func(day time.Time) bool {
			return isWeekday(t, day, weekday) && (day.Day()-1)/7 == atoi(t, nth)-1
		}
	case i == 5 && strings.HasSuffix(entry, "L"):
		return func(day time.Time) bool {
			return isWeekday(t, day, strings.TrimSuffix(entry, "L")) && day.AddDate(0, 0, 7).Month() != day.Month()
		}
	case i != 3 || strings.Trim(entry, "0123456789/-*") == "":
		return nil
	}
	target, nearest := strings.CutSuffix(entry, "W")
	return func(day time.Time) bool {
		for wanted := range daysOfMonth(day) {
			if isDate(t, wanted, target) {
				return !nearest && day.Equal(wanted) || nearest && isNearest(day, wanted)
			}
		}
		return false
	}
}

func isWeekday(t *testing.T, day time.Time, weekday string) bool {
	t.Helper()
	return int(day.Weekday()) == matcherValue(t, weekday)%7
}

func daysOfMonth(day time.Time) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		first := day.AddDate(0, 0, 1-day.Day())
		for d := first; d.Month() == first.Month() && yield(d); d = d.AddDate(0, 0, 1) {
		}
	}
}

// isDate reads "15", "L" and "L-3".
func isDate(t *testing.T, day time.Time, target string) bool {
	t.Helper()
	before, fromEnd := strings.CutPrefix(target, "L")
	if !fromEnd {
		return day.Day() == atoi(t, target)
	}
	n := 0
	if before != "" {
		n = atoi(t, before[1:])
	}
	last := day.AddDate(0, 0, n)
	return last.Month() == day.Month() && last.AddDate(0, 0, 1).Month() != day.Month()
}

// isNearest reports whether day is the one from Monday to Friday, of all in its
// month, that is the fewest days away.
func isNearest(day, wanted time.Time) bool {
	var nearest time.Time
	for d := range daysOfMonth(wanted) {
		if d.Weekday() == time.Saturday || d.Weekday() == time.Sunday {
			continue
		}
		if nearest.IsZero() || d.Sub(wanted).Abs() < nearest.Sub(wanted).Abs() {
			nearest = d
		}
	}
	return day.Equal(nearest)
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
