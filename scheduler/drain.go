package scheduler

import (
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/event"
)

// A drain has three steps, each with its own time: it ends claims at once, runs after
// DrainTimeout, releases StopTimeout later. What still runs then is stuck.

// lastTimeout is how long goroutines have to report after their release was cancelled.
const lastTimeout = time.Second

// drain waits for the attempts and stops them step by step. It returns a *StuckError if
// some do not end.
func (e *engine) drain() error {
	e.readInbox()
	e.dispatch.draining = true
	close(e.closing)
	e.stop.claims(jobs.ErrDraining)
	e.cfg.Observer(event.Event{Kind: event.Draining, Running: e.jobs.running()})
	for _, j := range e.jobs.list { // the ticks that wait are decided
		for _, q := range j.queues {
			e.dispatch.proceed(j, q)
		}
	}

	steps := []struct {
		stop func(error)
		then time.Duration
	}{{e.stop.runs, e.cfg.StopTimeout}, {e.stop.releases, lastTimeout}}
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
			q(e)
			continue
		case open := <-e.requests.desk.opened: // runs can still be cancelled
			e.readInbox()
			e.applyCommands(open)
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
