package pages

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A stamp is a formatted time.
type stamp struct {
	ISO, Text, Full, Ago string
	Local                bool // a script may show it in the browser's zone
}

// times shows the times of a page in a time zone.
type times struct {
	// Now is the time of the request.
	Now   time.Time
	zone  *time.Location
	local bool // show times in the browser's zone, by script
	job   bool // show times in the job's zone
}

// useJobZone sets the job's time zone if the page shows it.
func (t *times) useJobZone(zone *string) {
	if t.job && zone != nil {
		if at, err := schedule.LoadZone(*zone); err == nil {
			t.zone = at
		}
	}
}

// setZone sets the time zone: utc, local, job, or a name.
func (t *times) setZone(text string) *problem.Problem {
	switch strings.ToLower(text) {
	case "", "utc":
		return nil
	case "job":
		t.job = true
		return nil
	case "local":
		t.local = true
		return nil
	}
	zone, err := schedule.LoadZone(text)
	if err != nil {
		return problem.BadRequest("tz: " + err.Error())
	}
	t.zone = zone
	return nil
}

// Zone names the time zone of the page.
func (t times) Zone() string {
	if t.local {
		return "local"
	}
	return t.zone.String()
}

// At formats a time.Time or a view.Stamp; nil for zero.
func (t times) At(when any) *stamp {
	at := timeOf(when)
	if at.IsZero() {
		return nil
	}
	return &stamp{
		ISO: at.UTC().Format(time.RFC3339Nano), Text: t.clock(at), Full: at.In(t.zone).Format("Monday, 2 January 2006, 15:04:05.000 MST"),
		Ago: ago(at.Sub(t.Now)), Local: t.local,
	}
}

func timeOf(when any) time.Time {
	switch when := when.(type) {
	case time.Time:
		return when
	case string:
		return view.Time(&when)
	case *string:
		return view.Time(when)
	}
	return time.Time{}
}

// clock leaves out today's date and this year.
func (t times) clock(at time.Time) string {
	at, now := at.In(t.zone), t.Now.In(t.zone)
	switch {
	case at.Year() == now.Year() && at.YearDay() == now.YearDay():
		return at.Format("15:04:05")
	case at.Year() == now.Year():
		return at.Format("2 Jan 15:04:05")
	}
	return at.Format("2 Jan 2006 15:04")
}

// ago formats the distance of a time from now.
func ago(d time.Duration) string {
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return view.Span(-d) + " ago"
	}
	return "in " + view.Span(d)
}

// tookText is how long a run took until now; "" if unknown.
func tookText(r view.Run, now time.Time) string {
	d, ok := r.Took(now)
	if !ok {
		return ""
	}
	return view.Span(max(0, d))
}

// functions are what templates can call.
func functions() template.FuncMap {
	return template.FuncMap{"ahead": ahead, "left": left, "lines": brokenLines, "mark": markOf, "millis": millis, "span": span, "word": wordOf}
}

// brokenLines breaks a quoted text after each of its lines.
func brokenLines(text *string) string {
	return strings.NewReplacer(`\\`, `\\`, `\n`, "\\n\n").Replace(*text)
}

// millis formats milliseconds.
func millis(ms *float64) string {
	if ms == nil {
		return ""
	}
	return fmt.Sprintf("%.2f ms", *ms)
}

// span formats whole milliseconds.
func span(ms int64) string { return view.Span(time.Duration(ms) * time.Millisecond) }

// ahead is the difference between a clock and the nodes'; "" if unknown.
func ahead(ms *float64) string {
	switch {
	case ms == nil:
		return ""
	case *ms >= 1:
		return view.Span(time.Duration(*ms*1e6)) + " ahead"
	case *ms <= -1:
		return view.Span(time.Duration(-*ms*1e6)) + " behind"
	}
	return "within 1 ms"
}

// left is how long a lock lasts.
func left(ms *int64) string {
	if ms == nil {
		return "until it is released"
	}
	return span(max(0, *ms))
}

// A mark shows a state by shape, word and colour.
type mark struct{ Class, Shape, Word string }

// wordOf is the text of a value or pointer.
func wordOf(word any) string {
	switch word := word.(type) {
	case *ledger.Outcome:
		return view.Text(word)
	case *ledger.Trigger:
		return strings.ReplaceAll(view.Text(word), "_", " ")
	case *string:
		return view.Text(word)
	}
	return fmt.Sprint(word)
}

// markOf returns the mark of an outcome, which may be a pointer.
func markOf(outcome any) mark {
	m := view.MarkOf(ledger.Outcome(wordOf(outcome)))
	return mark{string(m.Level), m.Shape, m.Word}
}
