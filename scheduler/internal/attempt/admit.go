package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An admission is what an attempt needs on this replica before it may try to claim: no
// earlier run of its job in the way, one of the replica's places, and a turn.
type admission struct {
	window
	loop     loop
	free     bool // nothing blocks the first try
	hasTurn  bool
	hasPlace bool
	earlier  *EarlierTicks
}

// admit waits until nothing on this replica blocks a try to claim: no earlier run of the
// job, and no limit. closing is the verdict if the window closed now.
func (a *admission) admit(closing job.Verdict) job.Verdict {
	for {
		if v := a.waitForOwnRuns(); v.Kind != job.Again {
			return v
		}
		forPlace, v := a.takePlace()
		if v.Kind != job.Again {
			return v
		}
		forTurn, v := a.takeTurn(closing)
		if !forPlace && !forTurn || v.Kind != job.Again {
			return v
		}
		// Another stream of the job may have begun a run meanwhile. An attempt that has
		// waited only for its turn does not ask the loop without need.
		if !forPlace && !a.caughtUp && !a.Beside() && !a.runBegan.Swap(false) {
			return v
		}
		if run, ok := a.blockingRun(); run == nil || !ok {
			return v
		}
		a.leave()
	}
}

// takePlace takes one of the replica's places. It waits for one as long as for an earlier
// run of the job, and reports whether it had to.
func (a *admission) takePlace() (waited bool, v job.Verdict) {
	if a.places == nil {
		return false, job.Verdict{Kind: job.Again}
	}
	w := a.places.take(a.Brief)
	if w == nil {
		a.hasPlace = true
		return false, job.Verdict{Kind: job.Again}
	}
	left := forever
	if !a.patient() {
		left = a.remaining()
	}
	full := job.Verdict{Kind: job.Settled, Outcome: ledger.Skipped}
	if a.wait(left, w.given, full) == runOver {
		a.hasPlace = true
		a.keepOpen()
		return true, job.Verdict{Kind: job.Again}
	}
	a.places.giveUp(w)
	if a.waits.Err() != nil {
		return true, a.cutShort(full)
	}
	return true, a.noPlace()
}

// leave returns what the attempt has, since others may use it while this one waits.
func (a *admission) leave() {
	a.leaveTurn()
	a.leavePlace()
}

// leavePlace returns the place, if the attempt has one.
func (a *admission) leavePlace() {
	if a.hasPlace {
		a.hasPlace = false
		a.places.leave()
	}
}

// errElsewhere: the tick had no place here, and another replica runs it.
var errElsewhere = errors.New("another replica claimed it while this one ran scheduler.max_running others")

// noPlace is the verdict on a tick that got no place within its window. Usually another
// replica had one.
func (a *admission) noPlace() job.Verdict {
	if a.begun() {
		return job.Verdict{Kind: job.Lost, Err: errElsewhere}
	}
	return job.Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantMaxRunning, Details: &ledger.Details{Most: a.cfg.MaxRunning}})
}

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
