package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// admit waits until nothing on this replica blocks a try to claim: no earlier run of the
// job, and no limit. Then the attempt has a run permit and a claim permit.
func (a *attempt) admit() bool {
	for {
		if !a.waitForOwnRuns() {
			return false
		}
		waitedToRun, ok := a.acquireRunPermit()
		if !ok {
			return false
		}
		waitedToClaim, ok := a.acquireClaimPermit()
		if !ok {
			return false
		}
		if !waitedToRun && !waitedToClaim {
			return true
		}
		// Another stream of the job may have begun a run meanwhile. An attempt that has
		// waited only for its claim permit does not ask the loop without need.
		if !waitedToRun && !a.window.caughtUp && !a.assignment.MayOverlap() && !a.assignment.runBegan.Swap(false) {
			return true
		}
		if a.blockingRun() == nil {
			return true
		}
		a.leave()
	}
}

// waitForOwnRuns waits for this replica's own earlier runs to end, as long as the policy
// allows.
func (a *attempt) waitForOwnRuns() bool {
	for {
		run := a.blockingRun()
		if run == nil {
			return true
		}
		switch a.window.wait(a.window.patience(), run.assignment.ended, ledger.Skipped) {
		case given:
			a.window.keepOpen()
		case timeUp:
			return a.window.stop(StillRunning(run))
		default:
			return a.window.cutShort(StillRunning(run))
		}
	}
}

// blockingRun asks the loop which run blocks the tick; nil if none does, or if the loop has
// ended.
func (a *attempt) blockingRun() *Run {
	if a.free {
		a.free = false
		return nil
	}
	reply := a.loop.Consult(Progress{Phase: Asking, CatchesUp: a.window.caughtUp})
	if reply.Earlier != nil {
		a.earlier = reply.Earlier
	}
	return reply.BlockedBy
}

// StillRunning is the verdict on a tick that an earlier run on this replica blocked. The
// run's lease may have ended before its function.
func StillRunning(run *Run) job.Verdict {
	holder, tick, until := run.deps.cfg.Replica, run.assignment.Tick.At, run.lease.Deadline()
	if !locking.Expired(time.Now(), until) {
		return job.Overlapping(holder, tick, until)
	}
	return job.Because(ledger.Skipped, ledger.Reason{Code: ledger.CodeOverlap, Variant: ledger.VariantNoLease, Details: &ledger.Details{Holder: holder, Tick: tick}})
}

// errElsewhere: the tick had no run permit here, and another replica runs it.
var errElsewhere = errors.New("another replica claimed it while this one ran scheduler.max_running others")

// acquireRunPermit takes one of the replica's permits. It waits for one as long as for an earlier
// run of the job, and reports whether it had to. A tick that gets none within its window
// usually had a run permit on another replica.
func (a *attempt) acquireRunPermit() (waited, ok bool) {
	permits := a.deps.runPermits
	if permits == nil {
		return false, true
	}
	w := permits.acquire(a.assignment)
	if w == nil {
		a.hasRunPermit = true
		return false, true
	}
	if a.window.wait(a.window.patience(), w.given, ledger.Skipped) == given {
		a.hasRunPermit = true
		a.window.keepOpen()
		return true, true
	}
	permits.giveUp(w)
	switch {
	case a.assignment.waitCtx.Err() != nil:
		return true, a.window.cutShort(job.Verdict{Kind: job.Settled, Outcome: ledger.Skipped})
	case a.deps.begun(a.assignment):
		return true, a.window.stop(job.Verdict{Kind: job.Lost, Err: errElsewhere})
	}
	return true, a.window.stop(job.Because(ledger.Skipped, ledger.Reason{
		Code: ledger.CodeLimit, Variant: ledger.VariantMaxRunning, Details: &ledger.Details{Most: a.deps.cfg.MaxRunning},
	}))
}

// notTried is said of a tick that got no claim permit, since others wait for the store.
const notTried = "not tried, since this replica tries few ticks at once meanwhile"

// acquireClaimPermit waits for a claim permit to try, within the tick's window, and reports whether it had
// to.
func (a *attempt) acquireClaimPermit() (waited, ok bool) {
	permits, window := a.deps.claimPermits, &a.window
	w := permits.acquire(a.assignment)
	if w == nil {
		a.hasClaimPermit = true
		return false, true
	}
	for {
		switch window.wait(max(window.remaining(), 0), w.given, window.verdict.Outcome) {
		case given:
			a.hasClaimPermit = true
			return true, true
		case timeUp:
			if window.extendToCatchUp() {
				continue
			}
			if window.verdict.Reason.Code == ledger.CodeAsleep && permits.fewer.Load() {
				window.verdict = job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeNoQuorum, Variant: ledger.VariantStore, Details: &ledger.Details{Text: notTried}})
			}
		}
		permits.giveUp(w)
		return true, window.cutShort(window.verdict)
	}
}

// leave returns what the attempt has, since others may use it while this one waits.
func (a *attempt) leave() {
	a.releaseClaimPermit()
	a.releaseRunPermit()
}

// releaseClaimPermit returns the claim permit, if the attempt has one.
func (a *attempt) releaseClaimPermit() {
	if a.hasClaimPermit {
		a.hasClaimPermit = false
		a.deps.claimPermits.release()
	}
}

// releaseRunPermit returns the run permit, if the attempt has one.
func (a *attempt) releaseRunPermit() {
	if a.hasRunPermit {
		a.hasRunPermit = false
		a.deps.runPermits.release()
	}
}
