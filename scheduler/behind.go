package scheduler

import (
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// While ticks are caught up, those that come wait behind them in their lane. One
// whose window closes while an earlier run of its job goes on is skipped, as it is
// at any other time: it is not one that nobody could run. Otherwise a job whose
// runs take longer than its period would never be on time again.

// blocked is what the attempts of a lane were told of runs of the job on other
// replicas, as long as they were told of nothing else.
type blocked struct {
	since  time.Time
	last   time.Time // when it was told so last
	holder string
	tick   time.Time // that the run is of, as far as is known
	until  time.Time // the end of its lease
}

// keptOut tells whether the tick came by schedule, and was kept out at the end of
// its window, and since, by an earlier run of its job. Its verdict says by which.
func (j *job) keptOut(l *lane, t tick) (verdict, bool) {
	if t.trigger != ledger.BySchedule || !j.CatchUp.does() || j.Overlap.traits().beside {
		return verdict{}, false
	}
	for _, of := range j.running {
		if !of.run.started.After(t.until) {
			return stillRunning(of.run), true
		}
	}
	if b := l.blocked; b != nil && !b.since.After(t.until) && !b.last.Before(t.until) {
		return heldElsewhere(b.holder, b.tick, b.until), true
	}
	return verdict{}, false
}

// tellBlocked tells the loop what an attempt that catches up was told by the nodes.
func (a *attempt) tellBlocked(err error) {
	if !a.caughtUp {
		return
	}
	p := progress{phase: blocking}
	if taken, ok := errors.AsType[*locking.AcquireError](err); ok && errors.Is(err, locking.ErrTaken) {
		p.blocked = &blocked{holder: taken.Holder, tick: taken.HolderTick, until: taken.Until}
	}
	a.report(p)
}

// block takes in what an attempt of the lane was told.
func (l *lane) block(b *blocked, now time.Time) {
	if b != nil {
		b.since, b.last = now, now
		if l.blocked != nil {
			b.since = l.blocked.since
		}
	}
	l.blocked = b
}

// ranUntilNow forgets a run that has ended, after it accounts for the ticks that
// the run kept out.
func (e *engine) ranUntilNow(t *ticket) {
	j := t.owner
	i := slices.Index(j.running, t)
	if i < 0 {
		return
	}
	l := j.lane("")
	e.weed(j, l)
	l.blocked = nil
	j.running = slices.Delete(j.running, i, i+1)
}
