package attempt

import (
	"context"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
)

// keep begins to extend the lease. The keeper's context is the run's.
func (x *execution) keep() {
	keeping := x.keeping()
	keeping.MaxHold = x.cfg.MaxHold
	x.keeper = locking.Keep(x.runs, x.tenure(), keeping)
}

// inTime reports whether there is time left for the function if the lease is not extended.
func (x *execution) inTime() bool {
	return !locking.Expired(time.Now(), x.tenure().Deadline().Add(-x.cfg.SafetyMargin))
}

// cause is why ctx, of the run or of a call, has ended; nil if it has not. It also notices
// an expired lease before ctx does: the process may have been stopped.
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

// keeping is how leases are kept, without the bound for runs.
func (r *Run) keeping() locking.KeepConfig {
	return locking.KeepConfig{
		Every: r.cfg.ExtendEvery, Margin: r.cfg.SafetyMargin, TTL: r.cfg.TTL,
		Extended: func(e locking.Extension) {
			r.pulse.add(e, r.Now())
			r.notify(event.Event{Kind: event.Extended, Deadline: e.Deadline, Left: e.Left, Took: e.Took, Err: e.Err})
		},
	}
}
