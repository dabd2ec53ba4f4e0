package attempt

import (
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// patient reports whether the tick may wait beyond its window, for a run of its job or at a
// limit.
func (b *Brief) patient() bool {
	return b.Tick.Trigger == ledger.BySchedule && b.Job.Traits().Patient
}

// waitForOwnRuns waits for this replica's own earlier runs to end, as long as the policy
// allows.
func (a *admission) waitForOwnRuns() job.Verdict {
	for {
		run, ok := a.blockingRun()
		if run == nil || !ok {
			return job.Verdict{Kind: job.Again}
		}
		if v := a.waitFor(run); v.Kind != job.Again {
			return v
		}
	}
}

func (a *admission) waitFor(run *Run) job.Verdict {
	left := forever
	if !a.patient() {
		left = a.remaining()
	}
	switch a.wait(left, run.ended, job.Verdict{Outcome: ledger.Skipped}) {
	case runOver:
		a.keepOpen()
		return job.Verdict{Kind: job.Again}
	case timeUp:
		return StillRunning(run)
	default:
		return a.cutShort(StillRunning(run))
	}
}

// blockingRun asks the loop which run blocks the tick. It returns false if the loop has
// ended.
func (a *admission) blockingRun() (*Run, bool) {
	if a.free {
		a.free = false
		return nil, true
	}
	reply, ok := a.loop.Consult(Progress{Phase: Asking, CatchesUp: a.caughtUp})
	if reply.Earlier != nil {
		a.earlier = reply.Earlier
	}
	return reply.Behind, ok
}

// StillRunning is the verdict on a tick that an earlier run on this replica blocked. The
// run's lease may have ended before its function.
func StillRunning(run *Run) job.Verdict {
	until := run.lease.Deadline()
	if !locking.Expired(time.Now(), until) {
		return job.Overlapping(run.cfg.Replica, run.Tick.At, until)
	}
	return job.Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantNoLease, Details: &ledger.Details{Holder: run.cfg.Replica, Tick: run.Tick.At}})
}

// Beside reports whether the attempt's run may overlap others of its job.
func (b *Brief) Beside() bool { return b.Job.Traits().Beside }
