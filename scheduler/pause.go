package scheduler

import (
	"context"
	"errors"
	"slices"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// paused says why a job's ticks are skipped, zero if they are not. It takes the first of:
// its configuration, a pause of the job, of all jobs, of one of its tags.
func (j *Job) paused(pauses []acts.Act) ledger.Reason {
	if j.Paused {
		return ledger.Reason{Code: ledger.CodePaused, Variant: ledger.VariantConfigured}
	}
	for _, covers := range []func(acts.Act) bool{
		func(a acts.Act) bool { return a.Job == j.key() },
		func(a acts.Act) bool { return a.All && covers(a, j.key()) },
		func(a acts.Act) bool { return a.Tag != "" && slices.Contains(j.Tags, a.Tag) && covers(a, j.key()) },
	} {
		if i := slices.IndexFunc(pauses, covers); i >= 0 {
			return pausedBy(pauses[i])
		}
	}
	return ledger.Reason{}
}

// PausedBy says in words why the published job's ticks are skipped under the given pauses,
// "" if they are not.
func (j JobInfo) PausedBy(pauses []acts.Act) string {
	return (&Job{Name: j.Name, Key: j.Key, Tags: j.Tags, Paused: j.Paused}).paused(pauses).String()
}

// covers reports whether a pause of many jobs covers the job with the key.
func covers(a acts.Act, key string) bool { return a.Covers == nil || a.Covers(key) }

// pausedBy is the reason of a tick that is skipped for the pause.
func pausedBy(a acts.Act) ledger.Reason {
	d := ledger.Details{By: a.By, Since: a.At, Text: a.Reason}
	if a.Job == "" {
		d.Of = a.Target()
	}
	return ledger.Reason{Code: ledger.CodePaused, Details: &d}
}

// skipPaused decides a tick of a paused job, and reports whether the job is paused.
// Requests run all the same.
func (e *engine) skipPaused(j *job, t tick) bool {
	if t.act != nil {
		return false
	}
	why := j.paused(e.pauses)
	if why.IsZero() {
		return false
	}
	if t.trigger != ledger.ByRerun { // the ledger has its run, and afterPause offers it again
		e.decided(j.Job, t, because(ledger.Skipped, why))
	}
	return true
}

// pauseChanged handles a change of the pauses or of the job's definition; before: the job
// was paused.
func (e *engine) pauseChanged(j *job, before bool) {
	if before && j.paused(e.pauses).IsZero() {
		e.afterPause(j)
		return
	}
	e.stopPaused(j)
}

// afterPause asks the ledger for a run that was interrupted during the pause, or may be
// soon: this replica has not watched it. Later ticks wait for the answer. A replica that
// runs a scheduled tick itself need not ask: no earlier tick can be claimed.
func (e *engine) afterPause(j *job) {
	ownRun := func(t *ticket) bool { return t.tick.stream == "" }
	if j.OnCrash != CrashRerun || !fits(e.cfg.Labels, j.Labels) || slices.ContainsFunc(j.running, ownRun) {
		return
	}
	j.lane("").scans++
	e.scans = append(e.scans, &scan{past: past{job: j.Job, before: e.clock.wall()}, owner: j, urgent: true, onlyRerun: true})
}

// A pausedError ends the waiting of a tick whose job was paused.
type pausedError struct{ reason ledger.Reason }

func (e *pausedError) Error() string { return e.reason.String() }

// stopPaused decides the job's waiting ticks if it is paused: queued ones at once, and
// those that attempts claim. Runs continue, with their tries.
func (e *engine) stopPaused(j *job) {
	if !slices.ContainsFunc(j.lanes, func(l *lane) bool { return l.claiming != nil || len(l.queue) > 0 }) {
		return
	}
	why := j.paused(e.pauses)
	if why.IsZero() {
		return
	}
	for _, l := range j.lanes {
		e.prune(j, l)
		if a := l.claiming; a != nil && a.tick.act == nil {
			a.stopWaiting(&pausedError{why})
		}
	}
}

// pausedMeanwhile is the verdict on a tick whose job was paused between the claim and the
// call of the function.
func (b *brief) pausedMeanwhile() verdict {
	if paused, ok := errors.AsType[*pausedError](context.Cause(b.waits)); ok {
		return because(ledger.Skipped, paused.reason)
	}
	return verdict{kind: again}
}
