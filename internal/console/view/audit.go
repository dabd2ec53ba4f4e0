package view

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An Act is one operator request, as the audit log shows it.
type Act struct {
	ID          string          `json:"id"`
	At          string          `json:"at" jsonschema:"When it was asked for."`
	Kind        acts.Kind       `json:"kind" jsonschema:"Kind of act."`
	Job         *string         `json:"job" jsonschema:"Job that it applies to; null for a tag or all jobs."`
	Tag         *string         `json:"tag" jsonschema:"Tag whose jobs it applies to."`
	All         bool            `json:"all" jsonschema:"It applies to all jobs."`
	By          *string         `json:"by" jsonschema:"Name or address of the author."`
	Reason      *string         `json:"reason" jsonschema:"Reason that the author gave."`
	Run         *string         `json:"run" jsonschema:"ID of the run that was cancelled or triggered."`
	Parent      *string         `json:"parent" jsonschema:"ID of the run whose end triggered this one."`
	Params      json.RawMessage `json:"params"`
	From        *string         `json:"from" jsonschema:"Start of the range of a backfill."`
	To          *string         `json:"to" jsonschema:"End of that range, excluded."`
	Concurrency *int            `json:"concurrency" jsonschema:"How many runs of a backfill may run at once."`
	Expires     *string         `json:"expires" jsonschema:"The runs must start before this time."`
	Result      *string         `json:"result" jsonschema:"Result in words; null: none yet."`
	Closed      *string         `json:"closed" jsonschema:"When the result was known."`
}

// NewAct returns an act as a row.
func NewAct(act acts.Act) Act {
	row := Act{
		ID: act.ID, At: Text(Stamp(act.At)), Kind: act.Kind, Job: Optional(act.Job), Tag: Optional(act.Tag), All: act.All,
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

// An AuditQuery filters the audit log. Empty fields match every act.
type AuditQuery struct {
	Limit int
	After string // the ID of an act: only older acts
	Since time.Time
	By    string // a part of the name of who asked
	Job   string // the key of a job, or a tag
	Kinds []acts.Kind
	// Refused: true for refused acts only, false for all others.
	Refused *bool
}

// matches reports whether the query matches an act.
func (q AuditQuery) matches(act acts.Act) bool {
	return !act.At.Before(q.Since) && strings.Contains(strings.ToLower(act.By), strings.ToLower(q.By)) &&
		(q.Job == "" || q.Job == act.Job || q.Job == act.Tag) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, act.Kind)) &&
		(q.Refused == nil || *q.Refused == act.Refused())
}

// OpenActs returns the acts in force. Unknown says why they are not known although a
// quorum of nodes answers: new nodes do not vouch for pauses before their grace ends.
func (r Reader) OpenActs(ctx context.Context) (open acts.Open, unknown string, err error) {
	open, err = r.Acts.Open(ctx)
	if errors.Is(err, acts.ErrGrace) {
		return acts.Open{}, "Pauses and requests are not known yet, and no tick starts: " + err.Error(), nil
	}
	return open, "", err
}

// Pauses lists the pauses in force, oldest first.
func (r Reader) Pauses(ctx context.Context) ([]Act, error) {
	open, err := r.Acts.Open(ctx)
	acts.Sort(open.Pauses)
	return rowsOf(open.Pauses, err, NewAct)
}

// AuditPage lists the acts that match the query, newest first. It covers the acts that
// the log guarantees to keep. Next is After of the next page, "" on the last one.
func (r Reader) AuditPage(ctx context.Context, q AuditQuery) (rows []Act, next string, err error) {
	list, err := r.Acts.Audit(ctx, max(q.Limit, acts.KeepAudit+acts.KeepRefused))
	if err != nil {
		return nil, "", err
	}
	if q.After != "" {
		i := slices.IndexFunc(list, func(act acts.Act) bool { return act.ID == q.After })
		if i < 0 {
			return nil, "", invalid("cursor: the audit log no longer keeps this act; ask without a cursor")
		}
		list = list[i+1:]
	}
	rows = []Act{}
	for _, act := range list {
		if !q.matches(act) {
			continue
		}
		if len(rows) == q.Limit {
			return rows, rows[len(rows)-1].ID, nil
		}
		rows = append(rows, NewAct(act))
	}
	return rows, "", nil
}
