package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// Refusals that are noted in the audit log at most: others are in the log of the
// replica only.
const (
	noteWindow = time.Minute
	noteMost   = 10
)

// allow tells whether one more may be noted now.
func (l *noteLimit) allow(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.fail.until) {
		l.fail = failCount{until: now.Add(noteWindow)}
	}
	l.fail.n++
	return l.fail.n <= noteMost
}

// noteRefusal writes down that an act was refused, who asked for it and why.
func (s *Server) noteRefusal(r *http.Request, rt route, id Identity, wrong *problem) {
	act := scheduler.Act{
		Kind: rt.kind, Job: r.PathValue("job"), All: r.PathValue("job") == "", By: id.By(), Result: scheduler.RefusedResult + wrong.Detail,
	}
	var said struct {
		Reason string `json:"reason"`
	}
	if text, err := io.ReadAll(io.LimitReader(r.Body, maxBody)); err == nil && json.Unmarshal(text, &said) == nil {
		act.Reason = said.Reason
	}
	s.cfg.Logger.Warn("an act was refused", "act", string(act.Kind), "of", act.Target(), "by", act.By, "why", wrong.Detail)
	if !s.notes.allow(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.cfg.Timeout)
	defer cancel()
	if err := s.cfg.Control.Note(ctx, act); err != nil {
		s.cfg.Logger.Warn("the audit log has no note of a refused act", "why", err)
	}
}
