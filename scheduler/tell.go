package scheduler

import (
	"errors"

	"github.com/quorate/quorate/locking"
)

// tellStarted tells the observer of a run that starts, and if it does so later
// than its job wants. Ticks of the past that somebody asked for are not late.
func (a *attempt) tellStarted() {
	by := a.started.Sub(a.tick.start)
	if started := a.cfg.Observer.Started; started != nil {
		started(a.going(), by)
	}
	if a.job.LateAfter > 0 && by > a.job.LateAfter && a.tick.trigger != ByBackfill {
		a.cfg.Observer.Late(a.going(), by)
	}
}

// going is the entry of the run while it goes on.
func (a *attempt) going() Entry {
	e := a.entry(Running, a.started).named(a.job.Name)
	a.granted(&e)
	return e
}

// tellLost tells the observer once that the run has ended with its lease, if that
// is the cause.
func (a *attempt) tellLost(cause error) {
	if errors.Is(cause, locking.ErrLeaseLost) {
		a.toldLost.Do(func() { a.cfg.Observer.LeaseLost(a.going(), cause) })
	}
}
