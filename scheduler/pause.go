package scheduler

import (
	"slices"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// skipPaused decides a tick of a paused job, and reports whether the job is paused.
// Requests run all the same.
func (d *dispatcher) skipPaused(j *jobState, t job.Tick) bool {
	if t.Act != nil {
		return false
	}
	why := j.PausedFor(d.pauses)
	if why.IsZero() {
		return false
	}
	if t.Trigger != ledger.ByRerun { // the ledger has its run, and afterPause offers it again
		d.rec.Decided(j.Job, t, job.Because(ledger.Skipped, why))
	}
	return true
}

// pauseChanged handles a change of the pauses or of the job's definition; before: the job
// was paused.
func (e *engine) pauseChanged(j *jobState, before bool) {
	if before && j.PausedFor(e.dispatch.pauses).IsZero() {
		e.pasts.afterPause(j, e.clock.wall())
		return
	}
	e.dispatch.stopPaused(j)
}

// stopPaused decides the job's waiting ticks if it is paused: queued ones at once, and
// those that attempts claim. Runs continue, with their tries.
func (d *dispatcher) stopPaused(j *jobState) {
	if !slices.ContainsFunc(j.lanes, func(l *lane) bool { return l.claiming != nil || len(l.queue) > 0 }) {
		return
	}
	why := j.PausedFor(d.pauses)
	if why.IsZero() {
		return
	}
	for _, l := range j.lanes {
		d.prune(j, l)
		if a := l.claiming; a != nil && a.Tick.Act == nil {
			a.StopWaiting(&attempt.PausedError{Reason: why})
		}
	}
}
