package scheduler

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// notify sends an event of the tick before it is won.
func (a *attempt) notify(e Event) {
	e.Entry = named(a.entry("", time.Time{}), a.job.Name)
	a.cfg.Observer(e)
}

// notify sends an event of the run during the run.
func (x *execution) notify(e Event) { x.notifyOf(x.runningEntry(), e) }

// notifyOf sends an event of the run that entry describes.
func (x *execution) notifyOf(entry ledger.Entry, e Event) {
	e.Entry, e.Run = named(entry, x.job.Name), entry.ID()
	x.cfg.Observer(e)
}

// notifyStarted sends EventStarted, and EventLate if the run starts too late. Requested
// ticks of the past are not late.
func (x *execution) notifyStarted() {
	by := x.started.Sub(x.tick.start)
	x.notify(Event{Kind: EventStarted, By: by})
	if x.job.LateAfter > 0 && by > x.job.LateAfter && x.tick.trigger != ledger.ByBackfill {
		x.notify(Event{Kind: EventLate, By: by})
	}
}

// named returns e with the name of the job, for observers. The nodes may know another name.
func named(e ledger.Entry, job string) ledger.Entry {
	e.Job = job
	return e
}

// runningEntry is the entry of the run during the run.
func (x *execution) runningEntry() ledger.Entry {
	e := x.entry(ledger.Running, x.started)
	x.granted(&e)
	return e
}

// notifyLost sends EventLeaseLost once, if that is the cause.
func (x *execution) notifyLost(cause error) {
	if errors.Is(cause, locking.ErrLeaseLost) {
		x.lostOnce.Do(func() { x.notify(Event{Kind: EventLeaseLost, Err: cause}) })
	}
}
