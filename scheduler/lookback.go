package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
)

// Who watches a tick that another replica runs claims none after it. But a replica
// may have given a tick up before it heard that another had claimed it: it was
// starved, or cut off from the nodes. Were it to claim the next one when that other
// has died, the first could never be run again. So, where a job is run again, it
// asks the ledger before it tries whether the last run was interrupted, or may be
// before long, as after a start. So it does when it finds the lease of a tick in
// its way that it does not watch. Then that tick comes first.

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
	h := &hindsight{unsure: l.unsure && t.trigger != ByRerun, again: l.again}
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
func (e *engine) recall(a *attempt) {
	l, own := a.lane, a.tick
	if a.gaveUp {
		l.gaveUp(a.owner)
	}
	if a.watches && own.at.After(l.again) && a.pausedMeanwhile().kind != settled {
		l.again = own.at
	}
	switch {
	case !a.earlier.found():
		return
	case !e.serves(a.owner):
		e.decided(a.job, own, skippedFor(CodeRemoved))
		return
	}
	if !a.caughtUp && a.until.After(own.until) {
		own.until = a.until
	}
	l.insert(own)
	l.insert(a.earlier.first)
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
		a.cfg.Observer.Unread(a.job.Name, err)
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
