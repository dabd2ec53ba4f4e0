package gate

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/quorate/quorate/internal/console/problem"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/identity"
)

// Limits for refusals in the audit log. Others are only in the replica's log.
const (
	maxBody    = 64 << 10 // searched for the reason
	noteWindow = time.Minute
	noteMost   = 10
)

// allow reports whether one more may be recorded now.
func (l *noteLimit) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.fail.until) {
		l.fail = failCount{until: now.Add(noteWindow)}
	}
	l.fail.n++
	return l.fail.n <= noteMost
}

// noteRefusal logs a refused act, and records it in the audit log.
func (g *Gate) noteRefusal(r *http.Request, kind acts.Kind, id identity.Identity, wrong *problem.Problem) {
	act := acts.Act{
		Kind: kind, Job: r.PathValue("job"), All: r.PathValue("job") == "", By: id.By(), Result: acts.RefusedResult + wrong.Detail,
	}
	var said struct {
		Reason string `json:"reason"`
	}
	if text, err := io.ReadAll(io.LimitReader(r.Body, maxBody)); err == nil && json.Unmarshal(text, &said) == nil {
		act.Reason = said.Reason
	}
	g.cfg.Logger.Warn("an act was refused", "act", string(act.Kind), "of", act.Target(), "by", act.By, "why", wrong.Detail)
	if !g.notes.allow(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), g.cfg.Timeout)
	defer cancel()
	if err := g.cfg.Note(ctx, act); err != nil {
		g.cfg.Logger.Warn("the audit log could not record a refused act", "why", err)
	}
}
