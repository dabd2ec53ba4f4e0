package pages

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A stamp is a formatted time.
type stamp struct {
	ISO, Text, Full, Ago string
	Local                bool // a script may show it in the browser's zone
}

// At formats a time.Time or a listing.Stamp; nil for zero.
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

// Lines breaks a quoted text after each of its lines.
func (v *visit) Lines(text *string) string {
	return strings.NewReplacer(`\\`, `\\`, `\n`, "\\n\n").Replace(*text)
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

// clock leaves out today's date and this year.
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

// ago formats the distance of a time from now.
func ago(d time.Duration) string {
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return listing.Span(-d) + " ago"
	}
	return "in " + listing.Span(d)
}

// Took is how long a run took so far; "" if unknown.
func (v *visit) Took(r listing.Run) string {
	d, ok := r.Took(v.Now)
	if !ok {
		return ""
	}
	return listing.Span(max(0, d))
}

// Millis formats milliseconds.
func (v *visit) Millis(ms *float64) string {
	if ms == nil {
		return ""
	}
	return fmt.Sprintf("%.2f ms", *ms)
}

// Ahead is the difference between a clock and the nodes'; "" if unknown.
func (v *visit) Ahead(ms *float64) string {
	switch {
	case ms == nil:
		return ""
	case *ms >= 1:
		return listing.Span(time.Duration(*ms*1e6)) + " ahead"
	case *ms <= -1:
		return listing.Span(time.Duration(-*ms*1e6)) + " behind"
	}
	return "within 1 ms"
}

// Left is how long a lock lasts.
func (v *visit) Left(ms *int64) string {
	if ms == nil {
		return "until it is released"
	}
	return listing.Span(max(0, time.Duration(*ms)*time.Millisecond))
}

// A mark shows a state by shape, word and colour.
type mark struct{ Class, Shape, Word string }

// Mark returns the mark of an outcome.
func (v *visit) Mark(outcome any) mark {
	return markOf(ledger.Outcome(wordOf(outcome)))
}

// wordOf is the text of a value or pointer.
func wordOf(word any) string {
	switch word := word.(type) {
	case *ledger.Outcome:
		if word == nil {
			return ""
		}
		return string(*word)
	case *ledger.Trigger:
		if word == nil {
			return ""
		}
		return strings.ReplaceAll(string(*word), "_", " ")
	case *string:
		return listing.Text(word)
	}
	return fmt.Sprint(word)
}

// Word is the text of a value or pointer.
func (v *visit) Word(word any) string { return wordOf(word) }

func markOf(o ledger.Outcome) mark {
	word := strings.ReplaceAll(string(o), "_", " ")
	switch o {
	case ledger.Succeeded:
		return mark{"good", "✓", word}
	case ledger.Running:
		return mark{"busy", "▶", word}
	case ledger.Failed:
		return mark{"bad", "✕", word}
	case ledger.TimedOut, ledger.LeaseLost, ledger.Interrupted:
		return mark{"bad", "!", word}
	case ledger.Missed:
		return mark{"warn", "△", word}
	case ledger.Skipped:
		return mark{"calm", "◇", word}
	case ledger.Cancelled:
		return mark{"warn", "⊘", word}
	}
	return mark{"calm", "·", "never"}
}
