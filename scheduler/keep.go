package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking"
)

// A run that lasts has its lease extended, and its context ends with that. For one
// that is over long before the first extension, nothing of this is made.

// soon is how long before the first extension, or the end of the lease, a run must
// begin for its lease to be kept only if it lasts.
const soon = 10 * quickly

// inTime tells whether there is time left for the function. A lease that has not
// much left is kept from now on.
func (a *attempt) inTime() bool {
	a.from = time.Now()
	end := a.end()
	if locking.Expired(a.from, end) {
		return false
	}
	if min(end.Sub(a.from), a.cfg.ExtendEvery) < soon {
		a.keepOn()
	}
	return true
}

// end is when the work must be over, unless the lease is extended.
func (a *attempt) end() time.Time { return a.tenure().Deadline().Add(-a.cfg.SafetyMargin) }

// keepOn begins to extend the lease, and ends the run's context with it, unless it
// has begun before.
func (a *attempt) keepOn() {
	if a.keeper != nil {
		return
	}
	keeping := a.keeping()
	keeping.MaxHold, keeping.Begun = a.cfg.MaxHold, a.from
	a.keeper = locking.Keep(&a.runs, a.tenure(), keeping)
	kept := a.keeper.Context()
	a.unhook = context.AfterFunc(kept, func() { a.cancel(context.Cause(kept)) })
}

// keepNoMore leaves the lease to be released.
func (a *attempt) keepNoMore() {
	if a.keeper != nil {
		a.unhook()
		a.keeper.Stop()
	}
}

// cause is why ctx, of the run or a call of it, has ended, nil if it has not. It
// knows of a lost lease before ctx is told, also if the process was stopped, and the
// lease ended, before the call was found to last.
func (a *attempt) cause(ctx context.Context) error {
	if a.keeper == nil && locking.Expired(time.Now(), a.end()) {
		a.keepOn() // which ends at once
	}
	if cause := context.Cause(ctx); cause != nil || a.keeper == nil {
		return cause
	}
	return context.Cause(a.keeper.Context())
}

// keeping says how leases are kept, without the bound that only runs have.
func (a *attempt) keeping() locking.HoldConfig {
	return locking.HoldConfig{
		Every: a.cfg.ExtendEvery, Margin: a.cfg.SafetyMargin, TTL: a.cfg.TTL,
		Extended: func(e locking.Extension) {
			a.pulse.add(e, a.clock.wall())
			a.cfg.Observer.Extended(a.job.Name, a.claim(), e)
		},
	}
}
