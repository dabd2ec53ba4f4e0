package listing

import (
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Run is one attempt at a tick.
type Run struct {
	ID       *string         `json:"id"`
	Job      string          `json:"job"`
	Tick     string          `json:"tick"`
	Token    *locking.Token  `json:"token"`
	Attempt  *int            `json:"attempt"` // from 1: the n-th run of the tick
	Tries    *int            `json:"tries"`   // calls of the function in this attempt
	Trigger  *ledger.Trigger `json:"trigger"`
	Parent   *string         `json:"parent"` // the ID of the run that triggered it
	Replica  *string         `json:"replica"`
	Outcome  ledger.Outcome  `json:"outcome"`
	Reason   *string         `json:"reason"` // in words
	Code     *ledger.Code    `json:"reason_code"`
	Started  *string         `json:"started"`
	Finished *string         `json:"finished"`
	Error    *string         `json:"error"`
	Hash     *string         `json:"hash"` // version of the job
	// StaleWrites counts the writes that a guard refused; for a tick, of all attempts.
	StaleWrites int `json:"stale_writes"`
	// Poll has the nodes' answers to the claim, Beats the extensions of the lease; null
	// if unknown or none. A running run's replica knows them; the ledger has them once
	// the run has logged something.
	Poll  *Poll  `json:"poll"`
	Beats *Beats `json:"beats"`
}

// A Tick is one tick: the fields of its run, and the votes of its claim, such as "5/5".
type Tick struct {
	Run
	Votes *string `json:"votes"`
	// Recorded is false for a computed tick, which no replica recorded.
	Recorded bool `json:"recorded"`
}

// NewRun returns an entry of the ledger as a run.
func NewRun(e ledger.Entry) Run {
	row := Run{
		Job: e.Job, Tick: *Stamp(e.Tick), Token: Optional(e.Token), Attempt: Optional(e.Attempt),
		Tries: Optional(e.Tries), Trigger: Optional(e.Trigger), Parent: Optional(e.Parent), Replica: Optional(e.Replica),
		Outcome: e.Outcome, Reason: Optional(e.Reason.String()), Code: Optional(e.Reason.Code), Started: Stamp(e.Started),
		Finished: Stamp(e.Finished), Error: Optional(e.Error), Hash: Optional(e.Hash),
		StaleWrites: e.StaleWrites, Poll: newPoll(e.Poll), Beats: NewBeats(e.Beats),
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
	row := Tick{Run: NewRun(e), Recorded: !e.Computed}
	if e.Computed {
		row.Reason = Optional(Text(row.Reason) + " (computed, not recorded)")
	}
	if e.Votes.Of != 0 {
		row.Votes = Optional(fmt.Sprintf("%d/%d", e.Votes.For, e.Votes.Of))
	}
	return row
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
