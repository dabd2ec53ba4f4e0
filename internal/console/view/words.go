package view

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Join joins the texts that are not empty.
func Join(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), separator)
}

// Why joins the reason of an outcome and its error; either may be empty.
func Why(reason, err string) string { return Join("; ", reason, err) }

// Count is a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// And joins names with commas and "and"; it shortens long lists.
func And(names []string) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0]
	case n > 4:
		return strings.Join(names[:3], ", ") + " and " + Count(n-3, "other", "others")
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// Span writes a duration in one or two units.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(int(d.Minutes()), "min", int(d.Seconds())%60, "s", d < 10*time.Minute)
	case d < 48*time.Hour:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "min", true)
	}
	return twoUnits(int(d.Hours())/24, "days", int(d.Hours())%24, "h", d < 10*24*time.Hour)
}

func twoUnits(n int, unit string, rest int, small string, both bool) string {
	if !both || rest == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, rest, small)
}

// Optional returns nil for the zero value, so that JSON shows null.
func Optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Stamp formats t as listings do, RFC 3339 in UTC to the millisecond; nil for zero.
func Stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.999Z")
	return &s
}

// Time parses what Stamp returned; zero for nil.
func Time(stamp *string) time.Time {
	if stamp == nil {
		return time.Time{}
	}
	t, _ := time.Parse(time.RFC3339Nano, *stamp) // Stamp wrote it
	return t
}

// Text returns the text behind p, "" for nil.
func Text[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}
