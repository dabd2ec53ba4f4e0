package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Who watches a tick that another replica runs claims none after it. But a replica
// may have given a tick up before it heard that another had claimed it: it was
// starved, or cut off from the nodes. Were it to claim the next one when that other
// has died, the first could never be run again. So, where a job is run again, it
// asks the ledger before it tries whether the last run was interrupted, or may be
// before long, as after a start. It also does so when the lease
// of a tick that it does not watch blocks it. Then that tick comes first.

// A hindsight is what an attempt knows of the ticks before its own.
type hindsight struct {
	unsure  bool      // one may have to be run first
	again   time.Time // none up to here
	doubted time.Time // was last found in the way
	first   tick      // comes first; zero: none
}

func (h *hindsight) found() bool { return h != nil && !h.first.isZero() }

// hindsight is that of an attempt which begins. It sees to what the lane is unsure
// of.
func (l *lane) hindsight(j *Job, t tick) *hindsight {
	if j.OnCrash != CrashRerun || t.stream != "" {
		return nil
	}
	h := &hindsight{unsure: l.unsure && t.trigger != ledger.ByRerun, again: l.again}
	l.unsure = false
	return h
}

// gaveUp notes that a tick was accounted for of which this replica does not know
// that nobody runs it. It does where a run of its own kept all others out.
func (l *lane) gaveUp(j *job) {
	if l.stream == "" && j.OnCrash == CrashRerun && len(j.running) == 0 {
		l.unsure = true
	}
}

// recall notes what the end of an attempt says of ticks up to its own, and has the
// one begin that comes first.
func (e *engine) recall(t *ticket, left remains) {
	l, own := t.lane, t.tick
	if left.gaveUp {
		l.gaveUp(t.owner)
	}
	if t.watches && own.at.After(l.again) && t.pausedMeanwhile().kind != settled {
		l.again = own.at
	}
	switch {
	case left.before.isZero():
		return
	case !e.serves(t.owner):
		e.decided(t.job, own, skippedFor(ledger.CodeRemoved))
		return
	}
	own.until = later(own.until, left.until)
	l.insert(own)
	l.insert(left.before)
}

// postpone leaves it to the loop to begin with the tick that comes first.
func (a *attempt) postpone() {
	a.left.before = a.earlier.first
	if !a.caughtUp {
		a.left.until = a.until
	}
}

// lookBack asks the ledger, if that is called for, which earlier tick comes first.
// An error says that it did not answer.
func (a *attempt) lookBack(ctx context.Context) error {
	h := a.earlier
	if h == nil || !h.unsure {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	p := past{job: a.job, before: a.tick.at}
	t, err := p.lookAgain(ctx, a.cfg.Ledger, a.clock.wall(), a.cfg.Window)
	switch {
	case err != nil && (passing(err) || ctx.Err() != nil):
		return fmt.Errorf("ask the ledger whether an earlier run was interrupted: %w", err)
	case err != nil:
		a.cfg.Observer(Event{Kind: EventUnread, Entry: ledger.Entry{Job: a.job.Name}, Err: err})
	case t.at.After(h.again):
		h.first = t
	}
	h.unsure = false
	return nil
}

// passing tells whether a read of the ledger may succeed before long.
func passing(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, context.DeadlineExceeded)
}

// doubt has the attempt look back before its next try where err names an earlier
// tick, of another replica, that is not known here.
func (a *attempt) doubt(err error) {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if h := a.earlier; ok && h != nil && taken.Holder != a.cfg.Replica && taken.HolderTick.Before(a.tick.at) &&
		taken.HolderTick.After(h.again) && !taken.HolderTick.Equal(h.doubted) {
		h.unsure, h.doubted = true, taken.HolderTick
	}
}
