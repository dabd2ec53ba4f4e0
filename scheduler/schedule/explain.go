package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Describe says in words when a schedule ticks, also one that is put together
// of others: "At 02:00 every day, UTC; and at 12:00 every Sunday, UTC; except by
// calendar holidays". Of schedules of other packages it knows their type only.
func Describe(s Schedule) string {
	words, limits := describe(s)
	words += limits
	return strings.ToUpper(words[:1]) + words[1:]
}

// describe keeps apart what limits a schedule: members of a union have most of
// it in common.
func describe(s Schedule) (words, limits string) {
	const layout = "2006-01-02 15:04:05.999 MST"
	switch s := s.(type) {
	case At:
		return "once, at " + s.Time.Format(layout), ""
	case Every:
		origin := time.UnixMilli(s.Offset.Milliseconds()).UTC()
		return fmt.Sprintf("every %s, counted from %s", durationInWords(s.Interval), origin.Format(layout)), ""
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
	all, distinct := make([]string, len(u)), map[string]bool{}
	for i, s := range u {
		all[i], limits = describe(s)
		distinct[limits] = true
	}
	if len(distinct) > 1 {
		for i, s := range u {
			words, limits = describe(s)
			all[i] = words + limits
		}
		limits = ""
	}
	if len(u) == 0 {
		return "never", ""
	}
	return strings.Join(all, "; and "), limits
}

// durationInWords is such as "hour", "5 minutes" or "1 hour 30 minutes".
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
