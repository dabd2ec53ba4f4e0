package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// notify sends an event of the tick before it is won.
func (a *attempt) notify(e event.Event) {
	e.Entry = event.Named(a.entry("", time.Time{}), a.Job.Name)
	a.cfg.Observer(e)
}

// notify sends an event of the run during the run.
func (x *Execution) notify(e event.Event) { x.notifyOf(x.runningEntry(), e) }

// notifyOf sends an event of the run that entry describes.
func (x *Execution) notifyOf(entry ledger.Entry, e event.Event) {
	e.Entry, e.Run = event.Named(entry, x.Job.Name), entry.ID()
	x.cfg.Observer(e)
}

// notifyStarted sends EventStarted, and EventLate if the run starts too late. Requested
// ticks of the past are not late.
func (x *Execution) notifyStarted() {
	by := x.Started.Sub(x.Tick.Start)
	x.notify(event.Event{Kind: event.Started, By: by})
	if x.Job.LateAfter > 0 && by > x.Job.LateAfter && x.Tick.Trigger != ledger.ByBackfill {
		x.notify(event.Event{Kind: event.Late, By: by})
	}
}

// runningEntry is the entry of the run during the run.
func (x *Execution) runningEntry() ledger.Entry {
	e := x.entry(ledger.Running, x.Started)
	x.granted(&e)
	return e
}

// notifyLost sends EventLeaseLost once, if that is the cause.
func (x *Execution) notifyLost(cause error) {
	if errors.Is(cause, locking.ErrLeaseLost) {
		x.lostOnce.Do(func() { x.notify(event.Event{Kind: event.LeaseLost, Err: cause}) })
	}
}
