package web

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// soFar returns what is known of an attempt that goes on, or never said how it ended:
// from this replica if that runs it, else as the ledger has it. Live tells which.
func (s *Server) soFar(ctx context.Context, f *listing.Found, e scheduler.Entry) (log scheduler.Log, live bool, err error) {
	if s.cfg.Live != nil && e.Outcome == scheduler.Running {
		if log, ok := s.cfg.Live(e.Job, e.Token); ok {
			return log, true, nil
		}
	}
	log, err = f.Log(ctx, e)
	return log, false, err
}

// withPolls adds what the nodes said to a run that has no record of it yet.
func (s *Server) withPolls(ctx context.Context, f *listing.Found) {
	e := &f.Attempts[0]
	if e.Votes.Of != 0 || e.Outcome != scheduler.Running && e.Outcome != scheduler.Interrupted {
		return
	}
	if log, _, err := s.soFar(ctx, f, *e); err == nil { // else it is not known
		e.Votes, e.Poll, e.Beats = log.Run.Votes, log.Run.Poll, log.Run.Beats
	}
}

func answerRun(ctx context.Context, c *call) (any, error) {
	f, err := c.cfg.Control.Find(ctx, c.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	c.withPolls(ctx, f)
	return entriesPage(listing.Page{Entries: f.Attempts}, nil, listing.NewTick)
}

func answerLog(ctx context.Context, c *call) (any, error) {
	f, err := c.cfg.Control.Find(ctx, c.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	n := c.number("attempt")
	for _, e := range f.Attempts {
		if e.Outcome.Ran() && (n == 0 || e.Attempt == n) {
			log, _, err := c.soFar(ctx, f, e)
			return listing.NewLog(e, log), err
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("log of %s %w: the tick did not run", c.r.PathValue("run"), listing.ErrNotFound)
	}
	return nil, fmt.Errorf("log of %s %w: it has no attempt %d", c.r.PathValue("run"), listing.ErrNotFound, n)
}
