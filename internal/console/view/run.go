package view

import (
	"fmt"
	"strconv"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Run is one attempt at a tick.
type Run struct {
	ID          *string         `json:"id" jsonschema:"ID of the run; null if it did not run."`
	Job         string          `json:"job" jsonschema:"Name of the job."`
	Tick        string          `json:"tick" jsonschema:"Nominal time."`
	Token       *locking.Token  `json:"token" jsonschema:"Fencing token of the claim."`
	Attempt     *int            `json:"attempt" jsonschema:"From 1: the n-th run of the tick."`
	Tries       *int            `json:"tries" jsonschema:"Calls of the function in this attempt."`
	Trigger     *ledger.Trigger `json:"trigger" jsonschema:"Cause of the run."`
	Parent      *string         `json:"parent" jsonschema:"ID of the run that triggered it."`
	Replica     *string         `json:"replica" jsonschema:"Replica that ran or recorded it."`
	Outcome     ledger.Outcome  `json:"outcome"`
	Reason      *string         `json:"reason" jsonschema:"Why it did not run, or how it ended, in words."`
	Code        *ledger.Code    `json:"reason_code" jsonschema:"The same as a code."`
	Started     *string         `json:"started"`
	Finished    *string         `json:"finished"`
	Error       *string         `json:"error" jsonschema:"Error or stack of the function."`
	Hash        *string         `json:"hash" jsonschema:"Version of the job."`
	StaleWrites int             `json:"stale_writes" jsonschema:"Writes that a guard refused; for a tick, of all attempts."`
	// InterruptedOn is about an earlier attempt, in listings of ticks.
	InterruptedOn *string `json:"interrupted_on" jsonschema:"Of a tick that ran again: replica of the last attempt that lost its replica or its lease."`

	Poll  *Poll  `json:"poll" jsonschema:"Answers of the nodes to the claim; null if unknown. A running run has them once it has logged something."`
	Beats *Beats `json:"beats" jsonschema:"Extensions of the lease; null if there are none, or unknown."`
}

// A Tick is one tick: the fields of its run, and the votes of its claim, such as "3/3".
type Tick struct {
	Run
	Votes         *string `json:"votes" jsonschema:"How many nodes granted the claim, of those whose answer was awaited, such as 3/3 or 3/4: a quorum ends the vote. One number if the answers are unknown. poll has all."`
	Interruptions int     `json:"interruptions" jsonschema:"Earlier attempts that lost their replica or their lease, so the tick ran again."`

	Page     string `json:"-"` // ID of its page, also of a tick that did not run; "" if it has none
	Recorded bool   `json:"recorded" jsonschema:"false: computed from the schedule, since no replica recorded it."`
}

// NewRun returns an entry of the ledger as a run.
func NewRun(e ledger.Entry) Run {
	row := Run{
		Job: e.Job, Tick: Text(Stamp(e.Tick)), Token: Optional(e.Token), Attempt: Optional(e.Attempt),
		Tries: Optional(e.Tries), Trigger: Optional(e.Trigger), Parent: Optional(e.Parent), Replica: Optional(e.Replica),
		Outcome: e.Outcome, Reason: Optional(e.Reason.String()), Code: Optional(e.Reason.Code), Started: Stamp(e.Started),
		Finished: Stamp(e.Finished), Error: Optional(e.Error), Hash: Optional(e.Hash),
		StaleWrites: e.StaleWrites, InterruptedOn: Optional(e.InterruptedOn), Poll: newPoll(e.Poll), Beats: NewBeats(e.Beats),
	}
	if e.Token != 0 {
		row.ID = Optional(e.ID())
	}
	return row
}

// Ran is that of the entry.
func (r Run) Ran() bool {
	e := ledger.Entry{Outcome: r.Outcome}
	if r.Token != nil {
		e.Token = *r.Token
	}
	return e.Ran()
}

// NewTick returns an entry of the ledger as a tick.
func NewTick(e ledger.Entry) Tick {
	row := Tick{Run: NewRun(e), Interruptions: e.Interruptions, Recorded: !e.Computed}
	if row.Recorded {
		row.Page = e.ID()
	}
	if e.Computed {
		row.Reason = Optional(Text(row.Reason) + " (computed, not recorded)")
	}
	row.Votes = Optional(Votes(e))
	return row
}

// Votes says how many nodes granted the claim, of those whose answer was awaited: a round
// ends with a quorum. Without each node's answer it says only how many granted it.
func Votes(e ledger.Entry) string {
	of := awaited(e.Poll)
	switch {
	case e.Votes.Of == 0:
		return ""
	case of == 0 && e.Votes.For < e.Votes.Of:
		return strconv.Itoa(e.Votes.For)
	case of == 0:
		of = e.Votes.Of
	}
	return fmt.Sprintf("%d/%d", e.Votes.For, of)
}

// Took is how long the run took, or has been running; false if unknown.
func (r Run) Took(now time.Time) (time.Duration, bool) {
	switch {
	case r.Started == nil:
		return 0, false
	case r.Finished != nil:
		return Time(r.Finished).Sub(Time(r.Started)), true
	case r.Outcome != ledger.Running:
		return 0, false // its end is unknown
	}
	return now.Sub(Time(r.Started)), true
}
