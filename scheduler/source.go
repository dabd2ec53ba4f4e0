package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// sourceTimeout bounds one question to a Source.
const sourceTimeout = 30 * time.Second

// A Source yields jobs that are data: a schedule for each customer, say, from a
// database. It is asked when Run begins, every Config.SourceEvery, and after
// Scheduler.Refresh; what it says goes through the rules of Scheduler.Update.
type Source interface {
	// Jobs returns all jobs there are now, in any order: one that is missing is
	// removed. With an error, nothing is: the jobs of before go on until the
	// next answer. So a reader of rows must return its error, never the rows it
	// got so far. The context ends after 30 s.
	//
	// A name or key that another job has, be it one of New or Update, is an
	// error too, and changes nothing either.
	Jobs(ctx context.Context) ([]Job, error)
}

// SourceFunc is a function that is a Source.
type SourceFunc func(ctx context.Context) ([]Job, error)

// Jobs calls f.
func (f SourceFunc) Jobs(ctx context.Context) ([]Job, error) { return f(ctx) }

// Refresh has Config.Source asked soon instead of after Config.SourceEvery: for
// programs that know when something has changed. It does not wait, and may be
// called from any goroutine.
func (s *Scheduler) Refresh() {
	select {
	case s.refresh <- struct{}{}:
	default: // it will be asked anyway
	}
}

// follow takes in what Config.Source says until ctx ends or the engine drains.
func (s *Scheduler) follow(ctx context.Context) {
	if s.cfg.Source == nil {
		return
	}
	ticker := time.NewTicker(s.cfg.SourceEvery)
	defer ticker.Stop()
	var last string // what was said of the last failure
	for ctx.Err() == nil {
		err := s.resource(ctx)
		if errors.Is(err, ErrStopped) || ctx.Err() != nil {
			return
		}
		last = s.complain(err, last)
		select {
		case <-ctx.Done():
		case <-s.refresh:
		case <-ticker.C:
		}
	}
}

// complain tells the observer of a failure, once while it stays the same, and
// of its end.
func (s *Scheduler) complain(err error, last string) string {
	if err == nil {
		if last != "" {
			s.cfg.Observer(Event{Kind: EventUpdateFailed})
		}
		return ""
	}
	if err.Error() != last {
		s.cfg.Observer(Event{Kind: EventUpdateFailed, Err: err})
	}
	return err.Error()
}

// resource asks Config.Source and serves what it says.
func (s *Scheduler) resource(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	list, err := s.cfg.Source.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("reading the jobs: %w", err)
	}
	s.lineup.mu.Lock()
	defer s.lineup.mu.Unlock()
	_, err = s.set(values(s.lineup.own), list)
	return err
}
