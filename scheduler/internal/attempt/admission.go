package attempt

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// admit waits until nothing on this replica blocks a try to claim: no earlier run of the
// job, and no limit. closing is the verdict if the window closed now.
func (a *attempt) admit(closing job.Verdict) job.Verdict {
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
		if !forPlace && !a.CaughtUp && !a.Beside() && !a.runBegan.Swap(false) {
			return v
		}
		if run, ok := a.blockingRun(); run == nil || !ok {
			return v
		}
		a.leaveTurn()
		a.leavePlace()
	}
}

// takePlace takes one of the replica's places. It waits for one as long as for an earlier
// run of the job, and reports whether it had to.
func (a *attempt) takePlace() (waited bool, v job.Verdict) {
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

// leavePlace returns the place, if the attempt has one.
func (a *attempt) leavePlace() {
	if a.hasPlace {
		a.hasPlace = false
		a.places.leave()
	}
}

// ledgerLook bounds a query of the ledger.
const ledgerLook = 2 * time.Second

// errElsewhere: the tick had no place here, and another replica runs it.
var errElsewhere = errors.New("another replica claimed it while this one ran scheduler.max_running others")

// noPlace is the verdict on a tick that got no place within its window. Usually another
// replica had one.
func (a *attempt) noPlace() job.Verdict {
	if a.begun() {
		return job.Verdict{Kind: job.Lost, Err: errElsewhere}
	}
	return job.Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantMaxRunning, Details: &ledger.Details{Most: a.cfg.MaxRunning}})
}

// begun reports whether the ledger has a run of the tick.
func (a *attempt) begun() bool {
	ctx, cancel := context.WithTimeout(a.stops.Releases, ledgerLook)
	defer cancel()
	id := a.Tick.Entry(a.Job, "").ID()
	runs, _ := a.cfg.Ledger.Runs(ctx, ledger.Query{Job: a.Job.StoredAs(), Limit: 1, Since: a.Tick.At, Before: a.Tick.At.Add(time.Millisecond)})
	return slices.ContainsFunc(runs, func(run ledger.Entry) bool { return run.ID() == id })
}
