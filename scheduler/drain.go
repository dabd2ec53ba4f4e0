package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/attempt"
)

// A drain has three steps, each with its own time: it ends claims at once, runs after
// DrainTimeout, releases StopTimeout later. What still runs then is stuck.

// lastTimeout is how long goroutines have to report after their release was cancelled.
const lastTimeout = time.Second

// stops are the contexts of attempts. None ends with the context of Run: a drain ends them
// one by one.
type stops struct {
	attempt.Contexts

	stopClaims   context.CancelCauseFunc
	stopRuns     context.CancelCauseFunc
	stopReleases context.CancelCauseFunc
}

func newStops(base context.Context) stops {
	var s stops
	s.Claims, s.stopClaims = context.WithCancelCause(base)
	s.Runs, s.stopRuns = context.WithCancelCause(base)
	s.Releases, s.stopReleases = context.WithCancelCause(base)
	return s
}

func (s stops) all() {
	s.stopClaims(jobs.ErrDraining)
	s.stopRuns(jobs.ErrDraining)
	s.stopReleases(jobs.ErrDraining)
}

// drain waits for the attempts and stops them step by step. It returns a *StuckError if
// some do not end.
func (e *engine) drain() error {
	e.readInbox()
	e.dispatch.draining = true
	close(e.closing)
	e.stopClaims(jobs.ErrDraining)
	e.cfg.Observer(Event{Kind: EventDraining, Running: e.jobs.running()})
	e.dispatch.clear()

	steps := []struct {
		stop func(error)
		then time.Duration
	}{{e.stopRuns, e.cfg.StopTimeout}, {e.stopReleases, lastTimeout}}
	timer := time.NewTimer(e.cfg.DrainTimeout)
	defer timer.Stop()
	aborted := e.aborted
	for e.dispatch.active > 0 {
		select {
		case <-e.inbox.some:
			e.readInbox()
			continue
		case q := <-e.queries:
			e.readInbox()
			e.answer(q)
			continue
		case open := <-e.requests.desk.opened: // runs can still be cancelled
			e.readInbox()
			e.applyActs(open)
			continue
		case <-aborted:
			aborted = nil
			if len(steps) < 2 {
				continue // the runs are cancelled already
			}
		case <-timer.C:
			if len(steps) == 0 {
				return &StuckError{Jobs: e.jobs.running()}
			}
		}
		steps[0].stop(jobs.ErrDraining)
		timer.Reset(steps[0].then)
		steps = steps[1:]
	}
	e.attempts.Wait()
	return nil
}
