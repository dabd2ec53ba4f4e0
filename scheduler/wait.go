package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// forever is longer than any wait.
const forever time.Duration = 1 << 62

// errTooMany ends the waiting of a tick because more ticks wait than the job catches up.
var errTooMany = errors.New("more ticks wait than are to be caught up")

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
func (a *attempt) wait(d time.Duration, run <-chan struct{}, closing verdict) waking {
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
func (a *attempt) yields(closing verdict) bool {
	if a.caughtUp && a.job.CatchUp.Mode == CatchUpLast {
		return !a.rerun()
	}
	return closing.outcome == ledger.Skipped && a.patient()
}

// cutShort is the verdict on a tick that stops waiting; closing would be the verdict at the
// end of its window.
func (a *attempt) cutShort(closing verdict) verdict {
	cause, policy, missed := context.Cause(a.waits), a.job.CatchUp, closing.outcome == ledger.Missed
	paused := a.pausedMeanwhile()
	switch {
	case paused.kind == settled:
		return paused
	case errors.Is(cause, errTooMany) && missed:
		return policy.not(ledger.VariantMax, closing)
	case errors.Is(cause, errRemoved):
		return skippedFor(ledger.CodeRemoved)
	case cause != nil && !errors.Is(cause, errTooMany):
		return missedFor(ledger.CodeDrained)
	case a.overtaken() && policy.Mode == CatchUpLast && (a.caughtUp || missed):
		return policy.not(ledger.VariantLast, closing)
	case a.overtaken() && a.patient() && a.job.Overlap.traits().queues && !missed:
		return queued()
	case a.caughtUp && missed:
		return policy.not(ledger.VariantWindow, closing)
	default:
		return closing
	}
}
