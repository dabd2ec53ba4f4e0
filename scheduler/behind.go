package scheduler

import (
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// While ticks are caught up, new ticks wait behind them in their lane. A new tick whose
// window closes during an earlier run of its job is skipped, as at any other time.
// Otherwise a job whose runs take longer than its period would never be on time again.

// blocked is the run on another replica that attempts of a lane have found in their way, as
// long as they find nothing else.
type blocked struct {
	since  time.Time
	last   time.Time // when it was last found
	holder string
	tick   time.Time // the tick of the run, if known
	until  time.Time // the end of its lease
}

// keptOut reports whether an earlier run of the job has blocked a scheduled tick from the
// end of its window until now. The verdict names the run.
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

// reportBlocked tells the loop what blocks an attempt that catches up.
func (a *attempt) reportBlocked(err error) {
	if !a.caughtUp {
		return
	}
	p := progress{phase: blocking}
	if taken, ok := errors.AsType[*locking.AcquireError](err); ok && errors.Is(err, locking.ErrTaken) {
		p.blocked = &blocked{holder: taken.Holder, tick: taken.HolderTick, until: taken.Until}
	}
	a.report(p)
}

// block stores what blocks an attempt of the lane.
func (l *lane) block(b *blocked, now time.Time) {
	if b != nil {
		b.since, b.last = now, now
		if l.blocked != nil {
			b.since = l.blocked.since
		}
	}
	l.blocked = b
}

// ranUntilNow removes a run that has ended, after it has decided the ticks that the run
// blocked.
func (e *engine) ranUntilNow(t *ticket) {
	j := t.owner
	i := slices.Index(j.running, t)
	if i < 0 {
		return
	}
	l := j.lane("")
	e.prune(j, l)
	l.blocked = nil
	j.running = slices.Delete(j.running, i, i+1)
}
