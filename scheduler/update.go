package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/catchup"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Update replaces the jobs of New, or of the last Update, by list; those of Config.Source
// stay. Any goroutine but an Observer's may call it, before and during Run. When it
// returns:
//
//   - A job with a new Key is added. Its first tick is the next one.
//   - A job whose Key is gone is removed: no tick of it is claimed any more.
//     Undecided ticks are recorded as skipped. Runs continue to their end.
//   - A job with another Hash is changed: its next tick is computed again. Runs and
//     claims keep the definition that they began with.
//   - A job with the same Hash is left alone, but for its Handler and Schedule:
//     those of list are used from its next tick on.
//
// An error changes nothing. It joins everything that is wrong with list, or is ErrStopped
// when Run drains or has returned.
func (s *Scheduler) Update(list []Job) (Diff, error) {
	s.lineup.mu.Lock()
	defer s.lineup.mu.Unlock()
	return s.set(list, values(s.lineup.sourced))
}

// validateRenames checks that a job that was renamed twice keeps its first key.
func validateRenames(before map[string]*job.Job, after []*job.Job) error {
	was := make(map[string]string)
	for key, j := range before {
		if j.Name != key {
			was[j.Name] = key
		}
	}
	var errs []error
	for _, j := range after {
		if key, ok := was[j.Key]; ok {
			errs = append(errs, fmt.Errorf("scheduler: job %q has key %q, a name that the job had after %q: keep that key, under which the nodes know it", j.Name, j.Key, key))
		}
	}
	return errors.Join(errs...)
}

// submit passes u to the loop and waits until it is applied. It returns false if the loop
// drains or has ended.
func (e *engine) submit(u update) bool {
	u.done = make(chan struct{})
	select {
	case e.updates <- u:
		<-u.done
		return true
	case <-e.closing:
		return false
	}
}

// update applies one step.
func (e *engine) update(u update) {
	defer close(u.done)
	defer func() { e.jobs.priorities = nil }()
	now := e.clock.wall()
	for _, added := range u.added {
		e.add(added)
	}
	for _, r := range u.kept {
		e.revise(r, now)
	}
	for _, removed := range u.removed {
		e.remove(removed.job, now)
	}
	e.pasts.halfway = u.more
	e.startScans()
}

// add adds a job. A removed job that is still busy is used again.
func (e *engine) add(added *served) {
	if back := e.jobs.returning(added.Key); back != nil {
		back.Job, back.next = added.Job, added.job.next
		added.job = back
	}
	e.plan(added.job)
}

// plan adds a job and its next tick, and queues a scan of its past.
func (e *engine) plan(j *jobState) {
	e.jobs.add(j)
	now := e.clock.wall()
	span := catchup.Span{Job: j.Job, Before: now, Begun: now}
	if !j.next.isZero() {
		span.Before = j.next.at
	}
	e.pasts.scan(j, span)
}

// revise replaces the definition of a job. A due tick of the old schedule that is not
// claimed yet is recorded, unless the new schedule has it.
func (e *engine) revise(r revision, now time.Time) {
	j := r.served.job
	defer e.pauseChanged(j, !j.PausedFor(e.dispatch.pauses).IsZero())
	if !r.changed {
		j.Job = r.now
		return
	}
	e.fireDue(j, now)
	if due := j.tick(e.cfg.Window); !due.IsZero() && !due.At.After(now) && !due.At.Equal(r.next.at) {
		e.rec.Decided(j.Job, due, job.SkippedFor(ledger.CodeRescheduled))
	}
	j.Job = r.now
	e.jobs.reschedule(j, r.next)
}

// remove removes a job; its runs continue.
func (e *engine) remove(j *jobState, now time.Time) {
	e.fireDue(j, now)
	if due := j.tick(e.cfg.Window); !due.IsZero() && !due.At.After(now) {
		e.rec.Decided(j.Job, due, job.SkippedFor(ledger.CodeRemoved))
	}
	delete(e.pasts.unread, j)
	for _, l := range j.lanes {
		for _, t := range l.queue {
			if t.Act == nil { // other replicas with the job may run a request
				e.rec.Decided(j.Job, t, job.SkippedFor(ledger.CodeRemoved))
			} else {
				e.requests.started[t.Act.ID] = false
			}
		}
		l.queue = nil
		if l.claiming != nil {
			l.claiming.StopWaiting(attempt.ErrRemoved)
		}
	}
	e.jobs.remove(j)
}

// fireDue starts the job's due tick if the loop has not seen it yet.
func (e *engine) fireDue(j *jobState, now time.Time) {
	if !j.next.isZero() && !j.next.start().After(now) {
		e.fire(j, now)
	}
}
