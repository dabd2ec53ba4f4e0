package listing

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// An AuditQuery narrows the audit log. Empty fields narrow nothing.
type AuditQuery struct {
	Limit int
	After string // the ID of an act: only those asked for before it
	Since time.Time
	By    string // a part of who asked
	Job   string // the key of a job, or a tag
	Kinds []scheduler.ActKind
	// Refused: only acts that were refused if true, only others if false.
	Refused *bool
}

// fits tells whether an act is one of those asked for.
func (q AuditQuery) fits(act scheduler.Act) bool {
	return !act.At.Before(q.Since) && strings.Contains(strings.ToLower(act.By), strings.ToLower(q.By)) &&
		(q.Job == "" || q.Job == act.Job || q.Job == act.Tag) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, act.Kind)) &&
		(q.Refused == nil || *q.Refused == act.Refused())
}

// Pauses lists the pauses that stand, the oldest first. With a *scheduler.PartialError
// some may be missing.
func (r Reader) Pauses(ctx context.Context) ([]Act, error) {
	open, err := r.Acts.Open(ctx)
	if Whole(err) != nil {
		return nil, err
	}
	scheduler.SortActs(open.Pauses)
	rows := make([]Act, len(open.Pauses))
	for i, act := range open.Pauses {
		rows[i] = NewAct(act)
	}
	return rows, err
}

// AuditPage lists the acts that the query asks for, newest first, among those that
// the log is sure to keep. Next is After of the page after it, "" if there is none.
// With a *scheduler.PartialError some may be missing.
func (r Reader) AuditPage(ctx context.Context, q AuditQuery) (rows []Act, next string, err error) {
	list, err := r.Acts.Audit(ctx, max(q.Limit, scheduler.KeepAudit+scheduler.KeepRefused))
	if Whole(err) != nil {
		return nil, "", err
	}
	if q.After != "" {
		i := slices.IndexFunc(list, func(act scheduler.Act) bool { return act.ID == q.After })
		if i < 0 {
			return nil, "", invalid("cursor: the audit log keeps this act no more; ask without a cursor")
		}
		list = list[i+1:]
	}
	rows = []Act{}
	for _, act := range list {
		if !q.fits(act) {
			continue
		}
		if len(rows) == q.Limit {
			return rows, rows[len(rows)-1].ID, err
		}
		rows = append(rows, NewAct(act))
	}
	return rows, "", err
}
