package scheduler

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A tick is kept out by an earlier run of its job, on this replica or another,
// whose lease lasts. Each policy waits for its end:
//
//	skip             within the tick's window
//	queue            until the next tick of the stream comes
//	cancel_previous  until then, and asks the run to stop
//
// and skips the tick if that was not long enough. The window of a tick that
// may wait longer stays open while a run keeps it out, and Config.Window beyond.

// queued is the verdict on a tick that waited when another came to wait.
func queued() verdict {
	return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantQueue})
}

// patient tells whether the tick may wait beyond its window, for a run of its job
// or where a limit keeps it out.
func (b *brief) patient() bool {
	return b.tick.trigger == ledger.BySchedule && b.job.Overlap.traits().patient
}

// replace asks the runs of earlier ticks on this replica to stop if t is to
// replace them. Every replica that lives does so at the same time, so that of
// the run does. What is caught up replaces nothing, nor does a tick that is
// skipped because the job is paused.
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

// replaceBegun asks a run that begins to stop at once if the tick that is to
// replace it came while it was being claimed, or waited for the run of a replica
// that died. What is caught up goes before the ticks that came meanwhile.
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

// keepOpen keeps the window of a patient tick open that a run keeps out.
func (a *attempt) keepOpen() {
	if end := a.clock.wall().Add(a.cfg.Window); a.patient() && end.After(a.until) {
		a.until = end
	}
}

// overlapSkip says what becomes of a tick whose window closes while somebody
// holds the job's lock.
func overlapSkip(err error, t tick) verdict {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return overlapping("another run", time.Time{}, time.Time{})
	}
	if taken.HolderTick.Equal(t.at) {
		return because(ledger.Missed, ledger.Reason{Code: ledger.CodeUndecided, Variant: ledger.VariantHolder, Details: &ledger.Details{Holder: who(taken.Holder)}})
	}
	return heldElsewhere(taken.Holder, taken.HolderTick, taken.Until)
}

// heldElsewhere is the verdict on a tick that another replica's earlier one kept out, as
// the nodes know it. Without a time, no node had the lock any more.
func heldElsewhere(holder string, at, until time.Time) verdict {
	if !at.IsZero() && until.IsZero() {
		return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantUnended, Details: &ledger.Details{Holder: who(holder), Tick: at}})
	}
	return overlapping(holder, at, until)
}

// overlapping is the verdict on a tick that was kept out by an earlier one. It
// reads the same whether the holder lives or has died.
func overlapping(holder string, at, until time.Time) verdict {
	return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Details: &ledger.Details{Holder: who(holder), Tick: at, Until: until}})
}

// outwait waits for this replica's own earlier runs to end, as long as the
// policy has it.
func (a *attempt) outwait() verdict {
	for {
		run, ok := a.ask()
		if run == nil || !ok {
			return verdict{kind: again}
		}
		if v := a.waitFor(run); v.kind != again {
			return v
		}
	}
}

// waitFor waits for a run to end.
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

// ask asks the loop which run is in the way. It returns false if the loop has
// ended.
func (a *attempt) ask() (*execution, bool) {
	if a.free {
		a.free = false
		return nil, true
	}
	said, ok := a.consult(progress{phase: asking, catchesUp: a.caughtUp})
	return said.behind, ok
}

// stillRunning is the verdict on a tick that was kept out by this replica's own
// run of an earlier one, whose lease may have ended before its function.
func stillRunning(run *execution) verdict {
	until := run.lease.Deadline()
	if !locking.Expired(time.Now(), until) {
		return overlapping(run.cfg.Replica, run.tick.at, until)
	}
	return because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantNoLease, Details: &ledger.Details{Holder: run.cfg.Replica, Tick: run.tick.at}})
}

func who(holder string) string {
	if holder == "" {
		return "another replica"
	}
	return holder
}
