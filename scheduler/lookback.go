package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A replica that watches a tick of another replica claims no later tick. But it may have
// given a tick up before it learned that another had claimed it: it was starved, or cut off
// from the nodes. If it claimed the next tick after that replica died, the first could
// never be rerun. So, if a job's ticks are rerun, it asks the ledger before it tries
// whether the last run was interrupted, or may be soon, as after a start. It also does so
// when an unwatched tick's lease blocks it. Then that tick comes first.

// earlierTicks is what an attempt knows of the ticks before its own.
type earlierTicks struct {
	unsure      bool      // one may have to be rerun first
	watchedUpTo time.Time // none up to here
	doubted     time.Time // the tick that last blocked this one
	first       tick      // comes first; zero: none
}

func (h *earlierTicks) found() bool { return h != nil && !h.first.isZero() }

// earlierTicks returns them for an attempt that begins. The attempt then checks what the
// lane is unsure of.
func (l *lane) earlierTicks(j *Job, t tick) *earlierTicks {
	if j.OnCrash != CrashRerun || t.stream != "" {
		return nil
	}
	h := &earlierTicks{unsure: l.unsure && t.trigger != ledger.ByRerun, watchedUpTo: l.watchedUpTo}
	l.unsure = false
	return h
}

// gaveUp notes that a tick was decided that another replica may run. None can if a run of
// this replica blocks all others.
func (l *lane) gaveUp(j *job) {
	if l.stream == "" && j.OnCrash == CrashRerun && len(j.running) == 0 {
		l.unsure = true
	}
}

// noteEarlier stores what an attempt has learned about ticks up to its own, and queues the
// one that comes first.
func (e *engine) noteEarlier(t *ticket, end attemptEnd) {
	l, own := t.lane, t.tick
	if end.gaveUp {
		l.gaveUp(t.owner)
	}
	if t.watches && own.at.After(l.watchedUpTo) && t.pausedMeanwhile().kind != settled {
		l.watchedUpTo = own.at
	}
	switch {
	case end.before.isZero():
		return
	case !e.serves(t.owner):
		e.decided(t.job, own, skippedFor(ledger.CodeRemoved))
		return
	}
	own.until = later(own.until, end.until)
	l.insert(own)
	l.insert(end.before)
}

// postpone tells the loop to begin with the tick that comes first.
func (a *attempt) postpone() {
	a.end.before = a.earlier.first
	if !a.caughtUp {
		a.end.until = a.until
	}
}

// findEarlier asks the ledger, if needed, which earlier tick comes first. An error says
// that it did not answer.
func (a *attempt) findEarlier(ctx context.Context) error {
	h := a.earlier
	if h == nil || !h.unsure {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	p := past{job: a.job, before: a.tick.at}
	t, err := p.findRerun(ctx, a.cfg.Ledger, a.clock.wall(), a.cfg.Window)
	switch {
	case err != nil && (passing(err) || ctx.Err() != nil):
		return fmt.Errorf("ask the ledger whether an earlier run was interrupted: %w", err)
	case err != nil:
		a.cfg.Observer(Event{Kind: EventUnread, Entry: ledger.Entry{Job: a.job.Name}, Err: err})
	case t.at.After(h.watchedUpTo):
		h.first = t
	}
	h.unsure = false
	return nil
}

// passing reports whether a read of the ledger may succeed soon.
func passing(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, context.DeadlineExceeded)
}

// checkEarlier makes the attempt ask the ledger before its next try, if err names an
// earlier tick of another replica that is not known here.
func (a *attempt) checkEarlier(err error) {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if h := a.earlier; ok && h != nil && taken.Holder != a.cfg.Replica && taken.HolderTick.Before(a.tick.at) &&
		taken.HolderTick.After(h.watchedUpTo) && !taken.HolderTick.Equal(h.doubted) {
		h.unsure, h.doubted = true, taken.HolderTick
	}
}
