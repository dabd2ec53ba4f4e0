package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// notify sends an event of the tick before it is won.
func (w *window) notify(e event.Event) {
	e.Entry = event.Named(w.entry(w.trigger(), "", time.Time{}), w.Job.Name)
	w.cfg.Observer(e)
}

// notify sends an event of the run during the run.
func (r *Run) notify(e event.Event) { r.notifyOf(r.entry(ledger.Running), e) }

// notifyOf sends an event of the run that entry describes.
func (r *Run) notifyOf(entry ledger.Entry, e event.Event) {
	e.Entry, e.Run = event.Named(entry, r.Job.Name), entry.ID()
	r.cfg.Observer(e)
}

// notifyStarted sends EventStarted, and EventLate if the run starts too late. Requested
// ticks of the past are not late.
func (r *Run) notifyStarted() {
	by := r.Started.Sub(r.Tick.Start)
	r.notify(event.Event{Kind: event.Started, By: by})
	if r.Job.LateAfter > 0 && by > r.Job.LateAfter && r.Tick.Trigger != ledger.ByBackfill {
		r.notify(event.Event{Kind: event.Late, By: by})
	}
}

// notifyLost sends EventLeaseLost once, if that is the cause.
func (x *execution) notifyLost(cause error) {
	if errors.Is(cause, locking.ErrLeaseLost) {
		x.lostOnce.Do(func() { x.notify(event.Event{Kind: event.LeaseLost, Err: cause}) })
	}
}
