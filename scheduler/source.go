package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// sourceTimeout bounds one reading of a Source.
const sourceTimeout = 30 * time.Second

// A Source yields jobs from data: a schedule for each customer, for example, from a
// database. It is read when Run begins, every Config.SourceEvery, and after
// Scheduler.Refresh. Its jobs follow the rules of Scheduler.Update.
type Source interface {
	// Jobs returns all current jobs, in any order. Missing jobs are removed. After an error
	// all jobs stay until the next answer: so return the error of a reader, never the rows
	// read before it. The context ends after 30 s. An answer that lacks most of the jobs, see
	// ErrHalfWritten, counts if one at least Config.SourceEvery later lacks the same.
	//
	// The name or key of another job, also of one of New or Update, is an error, too.
	Jobs(ctx context.Context) ([]Job, error)
}

// SourceFunc is a function that is a Source.
type SourceFunc func(ctx context.Context) ([]Job, error)

// Jobs calls f.
func (f SourceFunc) Jobs(ctx context.Context) ([]Job, error) { return f(ctx) }

// Refresh reads Config.Source soon instead of after Config.SourceEvery: call it when data
// has changed. It does not wait. Any goroutine may call it.
func (s *Scheduler) Refresh() {
	select {
	case s.refresh <- struct{}{}:
	default: // it will be read anyway
	}
}

// follow reads Config.Source until ctx ends or the engine drains.
func (s *Scheduler) follow(ctx context.Context) {
	if s.cfg.Source == nil {
		return
	}
	ticker := time.NewTicker(s.cfg.SourceEvery)
	defer ticker.Stop()
	var last string // text of the last failure
	var loss heldLoss
	for ctx.Err() == nil {
		err := s.readSource(ctx, &loss)
		if errors.Is(err, ErrStopped) || ctx.Err() != nil {
			return
		}
		last = s.reportSource(err, last)
		select {
		case <-ctx.Done():
		case <-s.refresh:
		case <-ticker.C:
		}
	}
}

// reportSource notifies the observer of a failure, once while it stays the same, and of its
// end.
func (s *Scheduler) reportSource(err error, last string) string {
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

// A heldLoss is an answer that lacks most jobs, and waits to be given again.
type heldLoss struct {
	text  string // empty: there is none
	since time.Time
}

// readSource reads Config.Source and serves its jobs.
func (s *Scheduler) readSource(ctx context.Context, held *heldLoss) error {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	list, err := s.cfg.Source.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("reading the jobs: %w", err)
	}
	s.lineup.mu.Lock()
	defer s.lineup.mu.Unlock()
	if err := job.CheckLoss(values(s.lineup.sourced), list); err == nil {
		*held = heldLoss{}
	} else if err.Error() != held.text {
		*held = heldLoss{err.Error(), time.Now()}
		return err
	} else if time.Since(held.since) < s.cfg.SourceEvery {
		return err
	}
	_, err = s.set(values(s.lineup.own), list)
	return err
}
