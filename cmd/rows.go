package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A runRow is one run as `quorate runs -o json` shows it. Others' scripts read
// these names: a golden file pins them.
type runRow struct {
	ID       *string            `json:"id"`
	Job      string             `json:"job"`
	Tick     string             `json:"tick"`
	Token    *locking.Token     `json:"token"`
	Attempt  *int               `json:"attempt"`
	Tries    *int               `json:"tries"`
	Trigger  *scheduler.Trigger `json:"trigger"`
	Parent   *string            `json:"parent"` // the id of the run that triggered it
	Replica  *string            `json:"replica"`
	Outcome  scheduler.Outcome  `json:"outcome"`
	Reason   *string            `json:"reason"`
	Started  *string            `json:"started"`
	Finished *string            `json:"finished"`
	Error    *string            `json:"error"`
	Hash     *string            `json:"hash"` // the version of the job
}

// A tickRow is one tick: a run's fields and the votes of its claim, "5/5".
type tickRow struct {
	runRow
	Votes *string `json:"votes"`
	// Recorded is false for a tick that nobody could record: it is computed.
	Recorded bool `json:"recorded"`
}

func newRunRow(e scheduler.Entry) runRow {
	row := runRow{
		Job: e.Job, Tick: *stamp(e.Tick), Token: optional(e.Token), Attempt: optional(e.Attempt),
		Tries: optional(e.Tries), Trigger: optional(e.Trigger), Parent: optional(e.Parent), Replica: optional(e.Replica),
		Outcome: e.Outcome, Reason: optional(e.Reason), Started: stamp(e.Started),
		Finished: stamp(e.Finished), Error: optional(e.Error), Hash: optional(e.Hash),
	}
	if e.Token != 0 {
		row.ID = optional(e.ID())
	}
	return row
}

func newTickRow(e scheduler.Entry) tickRow {
	row := tickRow{runRow: newRunRow(e), Recorded: e.Reason != whyUnattended}
	if e.Votes.Of != 0 {
		row.Votes = optional(fmt.Sprintf("%d/%d", e.Votes.For, e.Votes.Of))
	}
	return row
}

// took is the time a run took so far, rounded for people.
func took(row runRow, now time.Time) string {
	if row.Started == nil {
		return "-"
	}
	started, err := time.Parse(time.RFC3339Nano, *row.Started)
	if err != nil {
		return "-"
	}
	finished := now
	if row.Finished != nil {
		if finished, err = time.Parse(time.RFC3339Nano, *row.Finished); err != nil {
			return "-"
		}
	} else if row.Outcome != scheduler.Running {
		return "-" // nobody knows when it stopped
	}
	return short(finished.Sub(started))
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
func why(row runRow) string {
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
func unusual(row runRow) string {
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
