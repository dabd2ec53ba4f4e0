package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/jobs"
)

// A drain ends things in this order, and gives each step its time: claims at
// once, runs after DrainTimeout, releases StopTimeout later. What goes on then
// is stuck.

// lastTimeout is for the goroutines whose release was cut short to say so.
const lastTimeout = time.Second

// stops are the contexts of what attempts do, and the means to end them. None
// ends with the context of Run: a drain ends them one by one.
type stops struct {
	claims   context.Context
	runs     context.Context
	releases context.Context

	stopClaims   context.CancelCauseFunc
	stopRuns     context.CancelCauseFunc
	stopReleases context.CancelCauseFunc
}

func newStops(base context.Context) stops {
	var s stops
	s.claims, s.stopClaims = context.WithCancelCause(base)
	s.runs, s.stopRuns = context.WithCancelCause(base)
	s.releases, s.stopReleases = context.WithCancelCause(base)
	return s
}

func (s stops) all() {
	s.stopClaims(jobs.ErrDraining)
	s.stopRuns(jobs.ErrDraining)
	s.stopReleases(jobs.ErrDraining)
}

// drain waits for the attempts that go on, with less and less patience. It
// returns a *StuckError if some never ended.
func (e *engine) drain() error {
	e.hear()
	e.draining = true
	close(e.closing)
	e.stopClaims(jobs.ErrDraining)
	e.cfg.Observer(Event{Kind: EventDraining, Running: e.runningJobs()})
	e.clear()

	steps := []struct {
		stop func(error)
		then time.Duration
	}{{e.stopRuns, e.cfg.StopTimeout}, {e.stopReleases, lastTimeout}}
	timer := time.NewTimer(e.cfg.DrainTimeout)
	defer timer.Stop()
	aborted := e.aborted
	for e.active > 0 {
		select {
		case <-e.inbox.some:
			e.hear()
			continue
		case q := <-e.asks:
			e.hear()
			e.answer(q)
			continue
		case open := <-e.desk.opened: // runs can still be cancelled
			e.hear()
			e.heed(open)
			continue
		case <-aborted:
			aborted = nil
			if len(steps) < 2 {
				continue // the runs are cancelled already
			}
		case <-timer.C:
			if len(steps) == 0 {
				return &StuckError{Jobs: e.runningJobs()}
			}
		}
		steps[0].stop(jobs.ErrDraining)
		timer.Reset(steps[0].then)
		steps = steps[1:]
	}
	e.attempts.Wait()
	return nil
}

// clear accounts for the ticks that wait.
func (e *engine) clear() {
	for _, j := range e.jobs {
		for _, l := range j.lanes {
			e.proceed(j, l)
		}
	}
}

// runningJobs names the jobs whose runs go on, sorted.
func (e *engine) runningJobs() []string {
	var names []string
	for _, j := range slices.Concat(e.jobs, e.leaving) {
		if len(j.running) > 0 {
			names = append(names, j.Name)
		}
	}
	slices.Sort(names)
	return names
}
