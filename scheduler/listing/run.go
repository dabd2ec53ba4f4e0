package listing

import (
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A Run is one attempt at a tick.
type Run struct {
	ID       *string            `json:"id"`
	Job      string             `json:"job"`
	Tick     string             `json:"tick"`
	Token    *locking.Token     `json:"token"`
	Attempt  *int               `json:"attempt"` // of the claim
	Tries    *int               `json:"tries"`   // calls of the function within it
	Trigger  *scheduler.Trigger `json:"trigger"`
	Parent   *string            `json:"parent"` // the id of the run that triggered it
	Replica  *string            `json:"replica"`
	Outcome  scheduler.Outcome  `json:"outcome"`
	Reason   *string            `json:"reason"` // in words
	Code     *scheduler.Code    `json:"reason_code"`
	Started  *string            `json:"started"`
	Finished *string            `json:"finished"`
	Error    *string            `json:"error"`
	Hash     *string            `json:"hash"` // the version of the job
	// StaleWrites is how many writes of it, of a tick of all its attempts, a guard has
	// refused.
	StaleWrites int `json:"stale_writes"`
	// Poll is what each node said to the claim, and Beats are the extensions of the
	// lease; null if nobody knows, or there were none. Of a run that goes on its
	// replica knows them, and the ledger once it has logged something.
	Poll  *Poll  `json:"poll"`
	Beats *Beats `json:"beats"`
}

// A Tick is what became of one tick: a run's fields and the votes of its claim,
// "5/5".
type Tick struct {
	Run
	Votes *string `json:"votes"`
	// Recorded is false for a tick that nobody could record: it is computed.
	Recorded bool `json:"recorded"`
}

// NewRun returns an entry of the ledger as a run.
func NewRun(e scheduler.Entry) Run {
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

// NewTick returns an entry of the ledger as a tick.
func NewTick(e scheduler.Entry) Tick {
	row := Tick{Run: NewRun(e), Recorded: !e.Computed}
	if e.Computed {
		row.Reason = Optional(Text(row.Reason) + " (computed, not recorded)")
	}
	if e.Votes.Of != 0 {
		row.Votes = Optional(fmt.Sprintf("%d/%d", e.Votes.For, e.Votes.Of))
	}
	return row
}

// Took is how long the run took, or has taken up to now while it goes on; false
// if nobody knows.
func (r Run) Took(now time.Time) (time.Duration, bool) {
	switch {
	case r.Started == nil:
		return 0, false
	case r.Finished != nil:
		return Time(r.Finished).Sub(Time(r.Started)), true
	case r.Outcome != scheduler.Running:
		return 0, false // nobody knows when it stopped
	}
	return now.Sub(Time(r.Started)), true
}
