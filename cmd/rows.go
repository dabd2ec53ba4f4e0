package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// took is the time a run took so far, rounded for people.
func took(row listing.Run, now time.Time) string {
	d, known := row.Took(now)
	if !known {
		return "-"
	}
	return short(d)
}

// short writes a duration with three figures or so.
func short(d time.Duration) string {
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

// why is the one cell that explains an outcome: what is unusual about the run,
// then the reason, else the error. It stands last, so that a terminal may wrap
// it, and is cut; -o json has it whole.
func why(row listing.Run) string {
	parts := make([]string, 0, 2)
	if how := unusual(row); how != "" {
		parts = append(parts, how)
	}
	if row.Reason != nil {
		parts = append(parts, *row.Reason)
	} else if row.Error != nil {
		parts = append(parts, *row.Error)
	}
	return clip(strings.Join(parts, ": "), 120)
}

// unusual says what started a run other than its schedule, and how often it was
// begun and its function called, if more than once. A tick that was to be caught
// up and was not has a reason that says so.
func unusual(row listing.Run) string {
	var all []string
	if t := row.Trigger; t != nil && *t != scheduler.BySchedule && (*t != scheduler.ByCatchUp || row.Token != nil) {
		all = append(all, string(*row.Trigger))
	}
	if row.Attempt != nil && *row.Attempt > 1 {
		all = append(all, fmt.Sprintf("attempt %d", *row.Attempt))
	}
	if row.Tries != nil && *row.Tries > 1 {
		all = append(all, fmt.Sprintf("%d tries", *row.Tries))
	}
	return strings.Join(all, ", ")
}
