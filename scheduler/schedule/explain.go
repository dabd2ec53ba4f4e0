package schedule

import (
	"fmt"
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
