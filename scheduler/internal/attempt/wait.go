package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// forever is longer than any wait.
const forever time.Duration = 1 << 62

// ErrTooMany ends the waiting of a tick because more ticks wait than the job catches up.
var ErrTooMany = errors.New("more ticks wait than are to be caught up")

// A waking is why a pause of an attempt ended.
type waking uint8

const (
	timeUp  waking = iota
	runOver        // the run has ended, or the share was given
	cutOff         // the attempt must end
)

// wait waits for d, or until the run ends (nil: none), or until the attempt must end: the
// replica drains, or a later tick comes to which this one yields. closing is the verdict if
// the window closed now.
func (a *attempt) wait(d time.Duration, run <-chan struct{}, closing job.Verdict) waking {
	overtaken := a.overtaken()
	if overtaken && a.yields(closing) {
		return cutOff
	}
	if d <= 0 && run == nil {
		return a.ifLeft()
	}
	later := a.later
	if overtaken {
		later = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return a.ifLeft()
		case <-run:
			return runOver
		case <-a.waits.Done():
			return cutOff
		case <-later:
			if a.yields(closing) {
				return cutOff
			}
			later = nil
		}
	}
}

// ifLeft is timeUp unless the attempt must end.
func (a *attempt) ifLeft() waking {
	if a.waits.Err() != nil {
		return cutOff
	}
	return timeUp
}

// overtaken reports whether the next tick of the schedule has come.
func (a *attempt) overtaken() bool {
	select {
	case <-a.later:
		return true
	default:
		return false
	}
}

// yields reports whether the tick is given up for a later one; closing would be its
// verdict.
func (a *attempt) yields(closing job.Verdict) bool {
	if a.CaughtUp && a.Job.CatchUp.Mode == job.CatchUpLast {
		return !a.rerun()
	}
	return closing.Outcome == ledger.Skipped && a.patient()
}

// cutShort is the verdict on a tick that stops waiting; closing would be the verdict at the
// end of its window.
func (a *attempt) cutShort(closing job.Verdict) job.Verdict {
	cause, policy, missed := context.Cause(a.waits), a.Job.CatchUp, closing.Outcome == ledger.Missed
	paused := a.PausedMeanwhile()
	switch {
	case paused.Kind == job.Settled:
		return paused
	case errors.Is(cause, ErrTooMany) && missed:
		return policy.Not(ledger.VariantMax, closing)
	case errors.Is(cause, ErrRemoved):
		return job.SkippedFor(ledger.CodeRemoved)
	case cause != nil && !errors.Is(cause, ErrTooMany):
		return job.MissedFor(ledger.CodeDrained)
	case a.overtaken() && policy.Mode == job.CatchUpLast && (a.CaughtUp || missed):
		return policy.Not(ledger.VariantLast, closing)
	case a.overtaken() && a.patient() && a.Job.Overlap.Traits().Queues && !missed:
		return job.Queued()
	case a.CaughtUp && missed:
		return policy.Not(ledger.VariantWindow, closing)
	default:
		return closing
	}
}

// extendToCatchUp keeps the window of a tick open that would be missed for closing, if it
// may be caught up.
func (a *attempt) extendToCatchUp(closing job.Verdict) bool {
	latest := a.Tick.Latest
	if a.CaughtUp || closing.Outcome != ledger.Missed || !latest.After(a.Now()) {
		return false
	}
	if a.Job.CatchUp.Mode == job.CatchUpLast && a.overtaken() {
		return false
	}
	a.CaughtUp, a.Until = true, latest
	return true
}

// ErrRemoved ends the attempt for a tick whose job was removed.
var ErrRemoved = errors.New("the job was removed")
