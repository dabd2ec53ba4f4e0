package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking"
)

// keep begins to extend the lease. The context of the run is that of the keeper.
func (x *execution) keep() {
	keeping := x.keeping()
	keeping.MaxHold = x.cfg.MaxHold
	x.keeper = locking.Keep(x.runs, x.tenure(), keeping)
}

// inTime tells whether there is time left for the function, unless the lease is extended.
func (x *execution) inTime() bool {
	return !locking.Expired(time.Now(), x.tenure().Deadline().Add(-x.cfg.SafetyMargin))
}

// cause is why ctx, of the run or a call of it, has ended, nil if it has not. It knows
// of a lease that has run out before ctx is told: the process may have been stopped.
func (x *execution) cause(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if cause := context.Cause(x.keeper.Context()); cause != nil {
		return cause
	}
	if !x.inTime() {
		return locking.ErrLeaseLost
	}
	return nil
}

// keeping says how leases are kept, without the bound that only runs have.
func (x *execution) keeping() locking.KeepConfig {
	return locking.KeepConfig{
		Every: x.cfg.ExtendEvery, Margin: x.cfg.SafetyMargin, TTL: x.cfg.TTL,
		Extended: func(e locking.Extension) {
			x.pulse.add(e, x.clock.wall())
			x.tell(Event{Kind: EventExtended, Deadline: e.Deadline, Left: e.Left, Took: e.Took, Err: e.Err})
		},
	}
}
