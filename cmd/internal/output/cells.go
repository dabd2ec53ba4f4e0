package output

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Took is how long a run has taken so far, rounded.
func Took(row view.Run, now time.Time) string {
	d, known := row.Took(now)
	if !known {
		return "-"
	}
	return Short(d)
}

// Short writes a duration with about three digits.
func Short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	s := d.Round(time.Second).String()
	if trimmed, ok := strings.CutSuffix(s, "m0s"); ok {
		s = trimmed + "m"
	}
	if trimmed, ok := strings.CutSuffix(s, "h0m"); ok {
		s = trimmed + "h"
	}
	return s
}

// Why explains an outcome in one cell: what is unusual about the run, then the reason or
// the error. It is the last cell, so a terminal may wrap it; there, Table cuts it.
func Why(row view.Run) string {
	parts := make([]string, 0, 2)
	if how := Unusual(row); how != "" {
		parts = append(parts, how)
	}
	if why := view.Why(view.Text(row.Reason), view.Text(row.Error)); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(parts, ": ")
}

// Unusual says what triggered a run other than its schedule, counts attempts and tries
// above one, and names the replica of an interrupted one. The reason of a tick that was not caught up already says it.
func Unusual(row view.Run) string {
	var all []string
	if t := row.Trigger; t != nil && *t != ledger.BySchedule && (*t != ledger.ByCatchUp || row.Token != nil) {
		all = append(all, string(*row.Trigger))
	}
	if row.Attempt != nil && *row.Attempt > 1 {
		all = append(all, fmt.Sprintf("attempt %d", *row.Attempt))
	}
	if row.InterruptedOn != nil {
		all = append(all, "interrupted on "+*row.InterruptedOn)
	}
	if row.Tries != nil && *row.Tries > 1 {
		all = append(all, fmt.Sprintf("%d tries", *row.Tries))
	}
	return strings.Join(all, ", ")
}

// Since is the time from then to now, "-" if then is unknown.
func Since(then, now time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return Short(max(now.Sub(then), 0))
}

// Millis writes milliseconds, "-" if unknown.
func Millis(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1fms", *v)
}

// NodeNotes is the node's error and warnings.
func NodeNotes(r view.Node) string {
	var notes []string
	if r.Error != nil {
		notes = append(notes, strings.TrimPrefix(*r.Error, r.Node+": "))
	}
	if r.Why != nil {
		notes = append(notes, *r.Why)
	}
	return strings.Join(append(notes, r.Warnings...), "; ")
}
