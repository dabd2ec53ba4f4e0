package scheduler

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An earlier run of its job, on this replica or another, blocks a tick while its lease
// lasts. Each policy waits for its end:
//
//	skip             within the tick's window
//	queue            until the next tick of the stream comes
//	cancel_previous  until then, and asks the run to stop
//
// and then skips the tick. The window of a tick that may wait longer stays open while a run
// blocks it, and for Config.Window afterwards.

// queued is the verdict on a waiting tick when the next one begins to wait.
func queued() verdict {
	return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantQueue})
}

// patient reports whether the tick may wait beyond its window, for a run of its job or at a
// limit.
func (b *brief) patient() bool {
	return b.tick.trigger == ledger.BySchedule && b.job.Overlap.traits().patient
}

// replace cancels the runs of earlier ticks on this replica if t replaces them. Every live
// replica does so at the same time, also the one with the run. Catching up replaces
// nothing, nor does a tick of a paused job.
func (e *engine) replace(j *job, t tick) {
	if !j.Overlap.traits().replaces || t.trigger != ledger.BySchedule && t.trigger != ledger.ByManual ||
		t.act == nil && !j.paused(e.pauses).IsZero() {
		return
	}
	for _, run := range j.running {
		if run.tick.at.Before(t.at) {
			run.cancel(&stopError{ledger.Reason{Code: ledger.CodeReplaced, Details: &ledger.Details{Tick: t.at}}})
		}
	}
}

// replaceBegun cancels a run that begins if the tick that replaces it came meanwhile: the
// claim took long, or waited for the run of a dead replica. Catching up goes before the
// ticks that came meanwhile.
func (e *engine) replaceBegun(begun *ticket) {
	if begun.run.trigger() == ledger.ByCatchUp {
		return
	}
	for _, l := range begun.owner.lanes {
		for _, t := range l.queue {
			e.replace(begun.owner, t)
		}
		if l.claiming != nil {
			e.replace(begun.owner, l.claiming.tick)
		}
	}
}

// keepOpen extends the window of a patient tick that a run blocks.
func (a *attempt) keepOpen() {
	if end := a.clock.wall().Add(a.cfg.Window); a.patient() && end.After(a.until) {
		a.until = end
	}
}

// overlapSkip is the verdict on a tick whose window closes while another claim holds the
// job's lock.
func overlapSkip(err error, t tick) verdict {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return overlapping("another run", time.Time{}, time.Time{})
	}
	if taken.HolderTick.Equal(t.at) {
		return because(ledger.Missed, ledger.Reason{Code: ledger.CodeUndecided, Variant: ledger.VariantHolder, Details: &ledger.Details{Holder: orAnotherReplica(taken.Holder)}})
	}
	return heldElsewhere(taken.Holder, taken.HolderTick, taken.Until)
}

// heldElsewhere is the verdict on a tick that an earlier one blocked on another replica, as
// the nodes know it. Without a time, no node had the lock any more.
func heldElsewhere(holder string, at, until time.Time) verdict {
	if !at.IsZero() && until.IsZero() {
		return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantUnended, Details: &ledger.Details{Holder: orAnotherReplica(holder), Tick: at}})
	}
	return overlapping(holder, at, until)
}

// overlapping is the verdict on a tick that an earlier one blocked. It is the same for a
// live and a dead holder.
func overlapping(holder string, at, until time.Time) verdict {
	return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Details: &ledger.Details{Holder: orAnotherReplica(holder), Tick: at, Until: until}})
}

// waitForOwnRuns waits for this replica's own earlier runs to end, as long as the policy
// allows.
func (a *attempt) waitForOwnRuns() verdict {
	for {
		run, ok := a.blockingRun()
		if run == nil || !ok {
			return verdict{kind: again}
		}
		if v := a.waitFor(run); v.kind != again {
			return v
		}
	}
}

func (a *attempt) waitFor(run *execution) verdict {
	left := forever
	if !a.patient() {
		left = a.remaining()
	}
	switch a.wait(left, run.ended, verdict{outcome: ledger.Skipped}) {
	case runOver:
		a.keepOpen()
		return verdict{kind: again}
	case timeUp:
		return stillRunning(run)
	default:
		return a.cutShort(stillRunning(run))
	}
}

// blockingRun asks the loop which run blocks the tick. It returns false if the loop has
// ended.
func (a *attempt) blockingRun() (*execution, bool) {
	if a.free {
		a.free = false
		return nil, true
	}
	reply, ok := a.consult(progress{phase: asking, catchesUp: a.caughtUp})
	return reply.behind, ok
}

// stillRunning is the verdict on a tick that an earlier run on this replica blocked. The
// run's lease may have ended before its function.
func stillRunning(run *execution) verdict {
	until := run.lease.Deadline()
	if !locking.Expired(time.Now(), until) {
		return overlapping(run.cfg.Replica, run.tick.at, until)
	}
	return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantNoLease, Details: &ledger.Details{Holder: run.cfg.Replica, Tick: run.tick.at}})
}

func orAnotherReplica(holder string) string {
	if holder == "" {
		return "another replica"
	}
	return holder
}
