package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Describe describes a schedule, also a combined one, in words: "At 02:00 every day, UTC;
// and at 12:00 every Sunday, UTC; except by calendar holidays". It names only the type of
// schedules of other packages.
func Describe(s Schedule) string {
	words, limits := describe(s)
	words += limits
	return strings.ToUpper(words[:1]) + words[1:]
}

// describe separates the limits of a schedule: members of a union share most of them.
func describe(s Schedule) (words, limits string) {
	const layout = "2006-01-02 15:04:05.999 MST"
	switch s := s.(type) {
	case At:
		return "once, at " + s.Time.Format(layout), ""
	case Every:
		return fmt.Sprintf("every %s, %s", durationInWords(s.Interval), s.alignment(layout)), ""
	case *zoned:
		return s.words(), ""
	case union:
		return s.describe()
	case excluding:
		words, limits = describe(s.Schedule)
		return words, limits + "; except by " + calendarNames(s.calendars)
	case between:
		words, limits = describe(s.Schedule)
		if !s.start.IsZero() {
			limits += "; from " + s.start.UTC().Format(layout) + " on"
		}
		if !s.end.IsZero() {
			limits += "; before " + s.end.UTC().Format(layout)
		}
		return words, limits
	}
	return fmt.Sprintf("by a schedule of type %T", s), ""
}

func (u union) describe() (words, limits string) {
	if len(u) == 0 {
		return "never", ""
	}
	members, limited := make([]string, len(u)), make([]string, len(u))
	for i, s := range u {
		members[i], limited[i] = describe(s)
	}
	if len(slices.Compact(slices.Clone(limited))) == 1 { // all have the same limits
		return strings.Join(members, "; and "), limited[0]
	}
	for i := range members {
		members[i] += limited[i]
	}
	return strings.Join(members, "; and "), ""
}

// alignment names a tick from which all others follow.
func (e Every) alignment(layout string) string {
	daily := e.Interval > 0 && 24*time.Hour%e.Interval == 0
	if daily && e.Offset == 0 {
		return "clock-aligned"
	}
	if daily {
		layout = "15:04:05.999 MST"
	}
	return "aligned to " + time.UnixMilli(e.Offset.Milliseconds()).UTC().Format(layout)
}

// durationInWords returns, for example, "hour", "5 minutes" or "1 hour 30 minutes".
func durationInWords(d time.Duration) string {
	units := []struct {
		name  string
		count float64
	}{
		{"hour", float64(d / time.Hour)},
		{"minute", float64(d % time.Hour / time.Minute)},
		{"second", (d % time.Minute).Seconds()},
	}
	var parts []string
	for _, u := range units {
		if u.count == 0 {
			continue
		}
		part := strconv.FormatFloat(u.count, 'f', -1, 64) + " " + u.name
		if u.count != 1 {
			part += "s"
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return strings.TrimPrefix(parts[0], "1 ")
	}
	return strings.Join(parts, " ")
}

// words explains all fields.
func (z *zoned) words() string {
	fields := z.fields()
	words := clockInWords(fields) + daysInWords(fields)
	if years := fields[yearField]; !years.star {
		words += ", in " + ranges(years.kind, years.values(), strconv.Itoa)
	}
	words += ", " + z.loc.String()
	if z.name != "" {
		words += " (H by the name " + z.name + ")"
	}
	return words
}

// maxClockTimes is how many times of day are named one by one.
const maxClockTimes = 6

// clockInWords explains the fields for second, minute and hour.
func clockInWords(f [numFields]field) string {
	seconds, minutes, hours := f[secondField].values(), f[minuteField].values(), f[hourField].values()
	if len(seconds)*len(minutes)*len(hours) <= maxClockTimes {
		return "at " + enumerate(clockTimes(seconds, minutes, hours))
	}
	rhythm := rhythmInWords(f[minuteField], f[hourField])
	if len(seconds) > 1 || seconds[0] != 0 {
		rhythm = rhythmInWords(f[secondField], f[minuteField])
		if !f[minuteField].full() {
			rhythm += " in " + f[minuteField].inWords()
		}
	}
	return rhythm + hoursInWords(f[hourField], everyDay(f))
}

// everyDay tells whether the fields leave out no day.
func everyDay(f [numFields]field) bool {
	return f[domField].star && f[dowField].star && f[monthField].full() && f[yearField].star
}

// rhythmInWords explains a field for seconds or minutes; of is the next larger
// one.
func rhythmInWords(f, of field) string {
	if step := f.evenStep(); step == 1 {
		return "every " + f.kind.name
	} else if step > 1 {
		return fmt.Sprintf("every %d %ss", step, f.kind.name)
	}
	words := "at " + f.inWords()
	if of.full() {
		words += " of every " + of.kind.name
	}
	return words
}

// hoursInWords names hours across midnight as one range only if every day has
// them: on some days the hours after midnight come before the others.
func hoursInWords(f field, everyDay bool) string {
	hours := f.ordered()
	first, last := hours[0], hours[len(hours)-1]
	switch step := f.evenStep(); {
	case step == 1:
		return ""
	case step > 1:
		return fmt.Sprintf(" in every %s hour from 00:00", ordinal(step))
	case len(hours) > 1 && (last-first+f.kind.size())%f.kind.size() == len(hours)-1:
		if first > last && !everyDay {
			return fmt.Sprintf(" from 00:00 to %02d:59 and from %02d:00 to 23:59", last, first)
		}
		return fmt.Sprintf(" from %02d:00 to %02d:59", first, last)
	case !everyDay:
		return " in " + f.valuesInWords(f.values())
	}
	return " in " + f.inWords()
}

// daysInWords explains the fields for days and months.
func daysInWords(f [numFields]field) string {
	ofMonths, inMonths := " of every month", ""
	if !f[monthField].full() {
		months := ranges(f[monthField].kind, f[monthField].ordered(), func(v int) string { return time.Month(v).String() })
		ofMonths, inMonths = " of "+months, " in "+months
	}
	dates := " on " + datesInWords(f[domField]) + ofMonths
	weekdays := weekdaysInWords(f[dowField], ofMonths, inMonths)
	switch {
	case !f[domField].star && !f[dowField].star:
		return dates + " and" + weekdays
	case !f[domField].star:
		return dates
	case !f[dowField].star:
		return weekdays
	case f[hourField].full():
		return inMonths
	}
	return " every day" + inMonths
}

// datesInWords is such as "days 1 and 15, the last day".
func datesInWords(f field) string {
	parts := f.rulesInWords()
	if f.spans != nil {
		parts = slices.Insert(parts, 0, f.inWords())
	}
	return enumerate(parts)
}

func (f field) rulesInWords() []string {
	all := make([]string, len(f.rules))
	for i, r := range f.rules {
		all[i] = r.words()
	}
	return all
}

// weekdaysInWords is such as " every Monday and on the last Friday of January".
func weekdaysInWords(f field, ofMonths, inMonths string) string {
	var parts []string
	if f.spans != nil {
		parts = append(parts, " every "+ranges(f.kind, f.ordered(), func(v int) string { return time.Weekday(v).String() })+inMonths)
	}
	if f.rules != nil {
		parts = append(parts, " on "+enumerate(f.rulesInWords())+ofMonths)
	}
	return strings.Join(parts, " and")
}

// full tells whether the field takes all its values.
func (f field) full() bool { return f.evenStep() == 1 }

// evenStep is n if the field's values are every nth from its first one on, and
// go on evenly in the next minute, hour or day; 0 if not.
func (f field) evenStep() int {
	values, size := f.values(), f.kind.size()
	if len(values) == 1 || size%len(values) != 0 {
		return 0
	}
	step := size / len(values)
	for i, v := range values {
		if v != f.kind.min+i*step {
			return 0
		}
	}
	return step
}

// inWords is such as "minute 5" or "hours 1, 2 and 7 to 9".
func (f field) inWords() string { return f.valuesInWords(f.ordered()) }

func (f field) valuesInWords(values []int) string {
	name := strings.TrimSuffix(f.kind.name, "-of-month") // "day"
	if len(values) > 1 {
		name += "s"
	}
	return name + " " + ranges(f.kind, values, strconv.Itoa)
}

// ordered returns the field's values as they were meant: from the beginning of
// the range that runs past the end, if there is one.
func (f field) ordered() []int {
	values := f.values()
	past := slices.IndexFunc(f.spans, func(s span) bool { return s.hi > f.kind.max })
	if past < 0 {
		return values
	}
	i, _ := slices.BinarySearch(values, f.spans[past].lo)
	return slices.Concat(values[i:], values[:i])
}

func clockTimes(seconds, minutes, hours []int) []string {
	var times []string
	for _, h := range hours {
		for _, m := range minutes {
			for _, s := range seconds {
				clock := fmt.Sprintf("%02d:%02d", h, m)
				if len(seconds) > 1 || s != 0 {
					clock += fmt.Sprintf(":%02d", s)
				}
				times = append(times, clock)
			}
		}
	}
	return times
}

// ranges names values, three and more in a row as "first to last".
func ranges(kind fieldKind, values []int, name func(int) string) string {
	var parts []string
	for i := 0; i < len(values); {
		last := i
		for last+1 < len(values) && values[last+1] == kind.wrap(values[last]+1) {
			last++
		}
		part := name(values[i])
		if last-i >= 2 {
			part += " to " + name(values[last])
			i = last
		}
		parts = append(parts, part)
		i++
	}
	return enumerate(parts)
}

func enumerate(parts []string) string {
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// ordinal is for numbers to 31.
func ordinal(n int) string {
	ending := map[int]string{1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}[n]
	return strconv.Itoa(n) + cmp.Or(ending, "th")
}
