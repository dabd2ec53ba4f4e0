package web

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// A stamp is a time as pages show it.
type stamp struct {
	ISO, Text, Full, Ago string
	Local                bool // a script may show it in the browser's zone
}

// At shows a time: a time.Time, or what listing.Stamp has made of one. It returns
// nil if there is none.
func (v *visit) At(when any) *stamp {
	t := instantOf(when)
	if t.IsZero() {
		return nil
	}
	in := t.In(v.zone)
	s := &stamp{ISO: t.UTC().Format(time.RFC3339Nano), Text: v.clock(in), Full: in.Format("Monday, 2 January 2006, 15:04:05.000 MST"), Local: v.local}
	s.Ago = ago(t.Sub(v.Now))
	return s
}

func instantOf(when any) time.Time {
	switch when := when.(type) {
	case time.Time:
		return when
	case string:
		return listing.Time(&when)
	case *string:
		return listing.Time(when)
	}
	return time.Time{}
}

// clock is as short as it can be without doubt.
func (v *visit) clock(t time.Time) string {
	now := v.Now.In(v.zone)
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format("15:04:05")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04:05")
	}
	return t.Format("2 Jan 2006 15:04")
}

// ago says how far a time is from now.
func ago(d time.Duration) string {
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return span(-d) + " ago"
	}
	return "in " + span(d)
}

// span is a duration in one or two units.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return two(int(d.Minutes()), "min", int(d.Seconds())%60, "s", d < 10*time.Minute)
	case d < 48*time.Hour:
		return two(int(d.Hours()), "h", int(d.Minutes())%60, "min", true)
	}
	return two(int(d.Hours())/24, "days", int(d.Hours())%24, "h", d < 10*24*time.Hour)
}

func two(n int, unit string, rest int, small string, both bool) string {
	if !both || rest == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, rest, small)
}

// Took says how long a run took, or takes; "" if nobody knows.
func (v *visit) Took(r listing.Run) string {
	d, ok := r.Took(v.Now)
	if !ok {
		return ""
	}
	return span(max(0, d))
}

// Millis says how long so many milliseconds are.
func (v *visit) Millis(ms *float64) string {
	if ms == nil {
		return ""
	}
	return fmt.Sprintf("%.2f ms", *ms)
}

// Ahead says how far a clock is from those of the nodes; "" if nobody knows.
func (v *visit) Ahead(ms *float64) string {
	switch {
	case ms == nil:
		return ""
	case *ms >= 1:
		return span(time.Duration(*ms*1e6)) + " ahead"
	case *ms <= -1:
		return span(time.Duration(-*ms*1e6)) + " behind"
	}
	return "exact to 1 ms"
}

// Left says how long a lock lasts.
func (v *visit) Left(ms *int64) string {
	if ms == nil {
		return "until it is released"
	}
	return span(max(0, time.Duration(*ms)*time.Millisecond))
}

// A mark shows an outcome by shape, word and colour.
type mark struct{ Class, Shape, Word string }

// Mark is that of an outcome.
func (v *visit) Mark(outcome any) mark {
	return markOf(scheduler.Outcome(wordOf(outcome)))
}

// wordOf is the text of what may be a pointer to one.
func wordOf(word any) string {
	switch word := word.(type) {
	case *scheduler.Outcome:
		if word == nil {
			return ""
		}
		return string(*word)
	case *scheduler.Trigger:
		if word == nil {
			return ""
		}
		return strings.ReplaceAll(string(*word), "_", " ")
	case *string:
		return listing.Text(word)
	}
	return fmt.Sprint(word)
}

// Word is the text of what may be a pointer to one.
func (v *visit) Word(word any) string { return wordOf(word) }

func markOf(o scheduler.Outcome) mark {
	word := strings.ReplaceAll(string(o), "_", " ")
	switch o {
	case scheduler.Succeeded:
		return mark{"good", "✓", word}
	case scheduler.Running:
		return mark{"busy", "▶", word}
	case scheduler.Failed:
		return mark{"bad", "✕", word}
	case scheduler.TimedOut, scheduler.LeaseLost, scheduler.Interrupted:
		return mark{"bad", "!", word}
	case scheduler.Missed:
		return mark{"warn", "△", word}
	case scheduler.Skipped:
		return mark{"calm", "◇", word}
	case scheduler.Cancelled:
		return mark{"warn", "⊘", word}
	}
	return mark{"calm", "·", "never"}
}
