package listing

import (
	"context"
	"encoding/json"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An Act is one operator request, as the audit log shows it.
type Act struct {
	ID          string          `json:"id"`
	At          string          `json:"at"`
	Kind        acts.Kind       `json:"kind"`
	Job         *string         `json:"job"`
	Tag         *string         `json:"tag"`
	All         bool            `json:"all"`
	By          *string         `json:"by"`
	Reason      *string         `json:"reason"`
	Run         *string         `json:"run"` // the run that was cancelled or triggered
	Parent      *string         `json:"parent"`
	Params      json.RawMessage `json:"params"`
	From        *string         `json:"from"`
	To          *string         `json:"to"`
	Concurrency *int            `json:"concurrency"`
	Expires     *string         `json:"expires"`
	Result      *string         `json:"result"`
	Closed      *string         `json:"closed"`
}

// NewAct returns an act as a row.
func NewAct(act acts.Act) Act {
	row := Act{
		ID: act.ID, At: *Stamp(act.At), Kind: act.Kind, Job: Optional(act.Job), Tag: Optional(act.Tag), All: act.All,
		By: Optional(act.By), Reason: Optional(act.Reason), Run: Optional(act.Run), Parent: Optional(act.Parent),
		Params: act.Params, From: Stamp(act.From), To: Stamp(act.To),
		Result: Optional(act.Result), Closed: Stamp(act.Closed),
	}
	asked := act.Within > 0 // a note was not
	if act.Kind.Request() && asked {
		row.Expires = Stamp(act.Expires())
	}
	if act.Concurrency > 0 {
		row.Concurrency = &act.Concurrency
	}
	if act.Kind == acts.Trigger && asked {
		row.Run = Optional(TriggeredRun(act).ID())
	}
	return row
}

// TriggeredRun returns what is known of a triggered run before it begins.
func TriggeredRun(act acts.Act) ledger.Entry {
	return ledger.Entry{Job: act.Job, Tick: act.At, Order: act.At, Stream: acts.StreamManual}
}

// Target returns what the act applies to, in words.
func (a Act) Target() string {
	switch {
	case a.All:
		return "all jobs"
	case a.Tag != nil:
		return "tag " + *a.Tag
	case a.Job != nil:
		return *a.Job
	}
	return ""
}

// Audit lists the latest acts, newest first.
func (r Reader) Audit(ctx context.Context, limit int) ([]Act, error) {
	list, err := r.Acts.Audit(ctx, limit)
	return rowsOf(list, err, NewAct)
}
