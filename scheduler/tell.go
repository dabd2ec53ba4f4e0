package scheduler

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// tell tells the observer what happens to the tick before it is won.
func (a *attempt) tell(e Event) {
	e.Entry = named(a.entry("", time.Time{}), a.job.Name)
	a.cfg.Observer(e)
}

// tell tells the observer what happens to the run while it goes on.
func (x *execution) tell(e Event) { x.tellOf(x.going(), e) }

// tellOf tells the observer what happens to the run that entry describes.
func (x *execution) tellOf(entry ledger.Entry, e Event) {
	e.Entry, e.Run = named(entry, x.job.Name), entry.ID()
	x.cfg.Observer(e)
}

// tellStarted tells the observer of a run that starts, and if it does so later
// than its job wants. Ticks of the past that somebody asked for are not late.
func (x *execution) tellStarted() {
	by := x.started.Sub(x.tick.start)
	x.tell(Event{Kind: EventStarted, By: by})
	if x.job.LateAfter > 0 && by > x.job.LateAfter && x.tick.trigger != ledger.ByBackfill {
		x.tell(Event{Kind: EventLate, By: by})
	}
}

// named returns e as observers are shown it: with the name of the job, under
// which the nodes may not know it.
func named(e ledger.Entry, job string) ledger.Entry {
	e.Job = job
	return e
}

// going is the entry of the run while it goes on.
func (x *execution) going() ledger.Entry {
	e := x.entry(ledger.Running, x.started)
	x.granted(&e)
	return e
}

// tellLost tells the observer once that the run has ended with its lease, if that
// is the cause.
func (x *execution) tellLost(cause error) {
	if errors.Is(cause, locking.ErrLeaseLost) {
		x.toldLost.Do(func() { x.tell(Event{Kind: EventLeaseLost, Err: cause}) })
	}
}
