package scheduler

import (
	"slices"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/past"
	"github.com/quorate/quorate/scheduler/ledger"
)

// skipPaused decides a tick of a paused job, and reports whether the job is paused.
// Requests run all the same.
func (e *engine) skipPaused(j *jobState, t job.Tick) bool {
	if t.Act != nil {
		return false
	}
	why := j.PausedFor(e.pauses)
	if why.IsZero() {
		return false
	}
	if t.Trigger != ledger.ByRerun { // the ledger has its run, and afterPause offers it again
		e.decided(j.Job, t, job.Because(ledger.Skipped, why))
	}
	return true
}

// pauseChanged handles a change of the pauses or of the job's definition; before: the job
// was paused.
func (e *engine) pauseChanged(j *jobState, before bool) {
	if before && j.PausedFor(e.pauses).IsZero() {
		e.afterPause(j)
		return
	}
	e.stopPaused(j)
}

// afterPause asks the ledger for a run that was interrupted during the pause, or may be
// soon: this replica has not watched it. Later ticks wait for the answer. A replica that
// runs a scheduled tick itself need not ask: no earlier tick can be claimed.
func (e *engine) afterPause(j *jobState) {
	ownRun := func(t *ticket) bool { return t.Tick.Stream == "" }
	if j.OnCrash != CrashRerun || !job.Fits(e.cfg.Labels, j.Labels) || slices.ContainsFunc(j.running, ownRun) {
		return
	}
	e.pasts.scanFirst(j, &past.Scan{Span: past.Span{Job: j.Job, Before: e.clock.wall()}, OnlyRerun: true})
}

// stopPaused decides the job's waiting ticks if it is paused: queued ones at once, and
// those that attempts claim. Runs continue, with their tries.
func (e *engine) stopPaused(j *jobState) {
	if !slices.ContainsFunc(j.lanes, func(l *lane) bool { return l.claiming != nil || len(l.queue) > 0 }) {
		return
	}
	why := j.PausedFor(e.pauses)
	if why.IsZero() {
		return
	}
	for _, l := range j.lanes {
		e.prune(j, l)
		if a := l.claiming; a != nil && a.Tick.Act == nil {
			a.StopWaiting(&attempt.PausedError{Reason: why})
		}
	}
}
