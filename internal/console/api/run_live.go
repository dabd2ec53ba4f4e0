package api

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// soFar returns the log of an attempt that has not reported its end. Live: this replica runs
// it; else the log is from the ledger.
func (a *API) soFar(ctx context.Context, f *view.Found, e ledger.Entry) (log ledger.Log, live bool, err error) {
	if a.cfg.Live != nil && e.Outcome == ledger.Running {
		if log, ok := a.cfg.Live(e.Job, e.Token); ok {
			return log, true, nil
		}
	}
	log, err = f.Log(ctx, e)
	return log, false, err
}

// withPolls adds the nodes' answers to a run whose record lacks them.
func (a *API) withPolls(ctx context.Context, f *view.Found) {
	e := &f.Attempts[0]
	if e.Votes.Of != 0 || e.Outcome != ledger.Running && e.Outcome != ledger.Interrupted {
		return
	}
	if log, _, err := a.soFar(ctx, f, *e); err == nil { // else unknown
		e.Votes, e.Poll, e.Beats = log.Run.Votes, log.Run.Poll, log.Run.Beats
	}
}

func answerRun(ctx context.Context, c *call) (any, error) {
	f, err := c.cfg.Control.Find(ctx, c.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	c.withPolls(ctx, f)
	return entriesPage(view.Page{Entries: f.Attempts}, nil, view.NewTick)
}

func answerLog(ctx context.Context, c *call) (any, error) {
	f, err := c.cfg.Control.Find(ctx, c.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	n := c.number("attempt")
	for _, e := range f.Attempts {
		if e.Ran() && (n == 0 || e.Attempt == n) {
			log, _, err := c.soFar(ctx, f, e)
			return view.NewLog(e, log), err
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("log of %s %w: the tick did not run", c.r.PathValue("run"), view.ErrNotFound)
	}
	return nil, fmt.Errorf("log of %s %w: the run has no attempt %d", c.r.PathValue("run"), view.ErrNotFound, n)
}
