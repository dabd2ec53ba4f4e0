package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// forever is longer than any wait.
const forever time.Duration = 1 << 62

// ErrTooMany ends the waiting of a tick because more ticks wait than the job catches up.
var ErrTooMany = errors.New("more ticks wait than are to be caught up")

// A waking is why a pause of an attempt ended.
type waking uint8

const (
	timeUp  waking = iota
	runOver        // the run has ended, or the share was given
	cutOff         // the attempt must end
)

// A window is the time in which an attempt may claim its tick, and what it has learned that
// changes this time.
type window struct {
	task
	until    time.Time // its end; overlap and catch-up extend it
	caughtUp bool      // the tick's own window has closed: this is catching up
	watched  bool      // another replica ran, or runs, the tick
}

// setBack is how far ahead a tick is at least that comes again after the clock was set back.
const setBack = 2 * time.Second

// remaining is the rest of the tick's window. It is zero if the wall clock was set back so
// far that the tick comes again: the attempt would wait until then and block the job's
// other ticks.
func (w *window) remaining() time.Duration {
	wall := w.Now()
	if w.Tick.Act == nil && w.Tick.At.Sub(wall) >= setBack {
		return 0
	}
	return w.until.Sub(wall)
}

// keepOpen extends the window of a patient tick that a run blocks.
func (w *window) keepOpen() {
	if end := w.Now().Add(w.cfg.Window); w.patient() && end.After(w.until) {
		w.until = end
	}
}

// rerun reports whether another replica has begun the tick before.
func (w *window) rerun() bool { return w.watched || w.Tick.Trigger == ledger.ByRerun }

// trigger is why the attempt runs its tick.
func (w *window) trigger() ledger.Trigger {
	switch {
	case w.rerun():
		return ledger.ByRerun
	case w.caughtUp:
		return ledger.ByCatchUp
	default:
		return w.Tick.Trigger
	}
}

// wait waits for d, or until the run ends (nil: none), or until the attempt must end: the
// replica drains, or a later tick comes to which this one yields. closing is the verdict if
// the window closed now.
func (w *window) wait(d time.Duration, run <-chan struct{}, closing job.Verdict) waking {
	overtaken := w.overtaken()
	if overtaken && w.yields(closing) {
		return cutOff
	}
	if d <= 0 && run == nil {
		return w.ifLeft()
	}
	later := w.later
	if overtaken {
		later = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return w.ifLeft()
		case <-run:
			return runOver
		case <-w.waits.Done():
			return cutOff
		case <-later:
			if w.yields(closing) {
				return cutOff
			}
			later = nil
		}
	}
}

// ifLeft is timeUp unless the attempt must end.
func (w *window) ifLeft() waking {
	if w.waits.Err() != nil {
		return cutOff
	}
	return timeUp
}

// yields reports whether the tick is given up for a later one; closing would be its
// verdict.
func (w *window) yields(closing job.Verdict) bool {
	if w.caughtUp && w.Job.CatchUp.Mode == job.CatchUpLast {
		return !w.rerun()
	}
	return closing.Outcome == ledger.Skipped && w.patient()
}

// cutShort is the verdict on a tick that stops waiting; closing would be the verdict at the
// end of its window.
func (w *window) cutShort(closing job.Verdict) job.Verdict {
	cause, last, missed := context.Cause(w.waits), w.Job.CatchUp.Mode == job.CatchUpLast, closing.Outcome == ledger.Missed
	paused := w.PausedMeanwhile()
	switch {
	case paused.Kind == job.Settled:
		return paused
	case errors.Is(cause, ErrTooMany) && missed:
		return w.Job.NotCaughtUp(ledger.VariantMax, closing)
	case errors.Is(cause, ErrRemoved):
		return job.SkippedFor(ledger.CodeRemoved)
	case cause != nil && !errors.Is(cause, ErrTooMany):
		return job.MissedFor(ledger.CodeDrained)
	case w.overtaken() && last && (w.caughtUp || missed):
		return w.Job.NotCaughtUp(ledger.VariantLast, closing)
	case w.overtaken() && w.patient() && w.Job.Traits().Queues && !missed:
		return job.Queued()
	case w.caughtUp && missed:
		return w.Job.NotCaughtUp(ledger.VariantWindow, closing)
	default:
		return closing
	}
}

// extendToCatchUp keeps the window of a tick open that would be missed for closing, if it
// may be caught up.
func (w *window) extendToCatchUp(closing job.Verdict) bool {
	latest := w.Tick.Latest
	if w.caughtUp || closing.Outcome != ledger.Missed || !latest.After(w.Now()) {
		return false
	}
	if w.Job.CatchUp.Mode == job.CatchUpLast && w.overtaken() {
		return false
	}
	w.caughtUp, w.until = true, latest
	return true
}

// ErrRemoved ends the attempt for a tick whose job was removed.
var ErrRemoved = errors.New("the job was removed")

// Identical replicas that ask at the same instant split the votes, and no one wins. So they
// start one after the other, in an order that changes with every tick, and wait for a
// random time after a split vote.

// Stagger is how long a replica waits before its first try. It leaves half of the room for
// retries, for any number of replicas.
func Stagger(step time.Duration, rank int, room time.Duration) time.Duration {
	if step <= 0 || room <= 0 {
		return 0
	}
	return min(time.Duration(rank)*step, room/2)
}

// The longest pauses: before the second try, before others within a window of seconds, and
// in a window that may stay open for hours. There the replica with the run does not pause,
// so the others need not hurry.
const (
	firstRetry   = 20 * time.Millisecond
	longestRetry = 250 * time.Millisecond
	longestWait  = 4 * time.Second
)

// slowFactor bounds the pause after a try, as a multiple of its duration.
const slowFactor = 4

// retryDelay is the pause after a number of tries, the last of which took that long. It is
// random, up to a limit that doubles up to longest. If tries are slow, the limit is a
// multiple of their duration: otherwise competitors would keep colliding and slow each
// other down. It does not aim at the end of the blocking lease, where all waiting replicas
// would collide again.
func retryDelay(tries int, took, longest time.Duration, random func(time.Duration) time.Duration) time.Duration {
	limit := firstRetry
	for range tries - 1 {
		if limit *= 2; limit >= longest {
			limit = longest
			break
		}
	}
	return time.Millisecond + random(max(limit, slowFactor*took))
}

// retryDelay is the pause after a number of tries; the last took that long and was refused
// for why. An attempt that may wait for long asks rarely. Many replicas that wait for one
// run, or for a store that does not serve them, together ask as often as one replica would. But
// every attempt uses the last quarter of the window. below yields a duration below a limit.
func (w *window) retryDelay(tries int, took time.Duration, why error, below func(time.Duration) time.Duration) time.Duration {
	longest := longestRetry
	if !w.patient() && !w.caughtUp {
		took = min(took, w.remaining()/4/slowFactor)
	}
	switch {
	case w.patient() || w.caughtUp || w.remaining() > w.cfg.Window:
		longest = longestWait
	case errors.Is(why, locking.ErrTaken), undecided(why):
		crowded := min(time.Duration(max(w.crowd, 1))*longestRetry, longestWait, w.remaining()/4)
		longest = max(longest, crowded)
	}
	return retryDelay(tries, took, longest, below)
}
