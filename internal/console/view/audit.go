package view

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

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
