package attempt

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// forever is longer than any wait.
const forever time.Duration = 1 << 62

// Why the loop ends the waiting of a tick, besides a *PausedError.
var (
	ErrTooMany = errors.New("more ticks wait than are to be caught up")
	ErrRemoved = errors.New("the job was removed")
)

// A waking is why a pause of an attempt ended.
type waking uint8

const (
	timeUp waking = iota
	given         // the run has ended, or the attempt has its permit of a quota
	cutOff        // the attempt must end
)

// A window is the time in which an attempt may claim its tick, and the verdict on the tick
// if it does not.
type window struct {
	deps       *Deps       // the attempt's
	assignment *Assignment // the attempt's

	until    time.Time // its end; overlap and catch-up extend it, a watched lease sets it anew
	caughtUp bool      // the tick's own window has closed: this is catching up; once true it stays so
	watched  bool      // another replica ran, or runs, the tick; once true it stays so

	// verdict is the verdict on the tick if the attempt ended now: first that the replica was
	// asleep, then what the last try met, and once a step has returned false, the last one.
	verdict job.Verdict
}

// setBack is how far ahead a tick is at least that comes again after the clock was set back.
const setBack = 2 * time.Second

// remaining is the rest of the tick's window. It is zero if the wall clock was set back so
// far that the tick comes again: the attempt would wait until then and block the job's
// other ticks.
func (w *window) remaining() time.Duration {
	wall, tick := w.deps.engine.Now(), &w.assignment.Tick
	if tick.Command == nil && tick.At.Sub(wall) >= setBack {
		return 0
	}
	return w.until.Sub(wall)
}

// patience is how long the tick may wait for a run of its job, or at a limit.
func (w *window) patience() time.Duration {
	if w.assignment.patient() {
		return forever
	}
	return w.remaining()
}

// keepOpen extends the window of a patient tick that a run blocks.
func (w *window) keepOpen() {
	if end := w.deps.engine.Now().Add(w.deps.cfg.Window); w.assignment.patient() && end.After(w.until) {
		w.until = end
	}
}

// extendToCatchUp keeps the window open of a tick that would be missed, if it may be caught
// up.
func (w *window) extendToCatchUp() bool {
	latest := w.assignment.Tick.Latest
	if w.caughtUp || w.verdict.Outcome != ledger.Missed || !latest.After(w.deps.engine.Now()) {
		return false
	}
	if w.assignment.Job.CatchUp.Mode == jobs.CatchUpLast && w.assignment.overtaken() {
		return false
	}
	w.caughtUp, w.until = true, latest
	return true
}

// rerun reports whether another replica has begun the tick before.
func (w *window) rerun() bool { return w.watched || w.assignment.Tick.Trigger == ledger.ByRerun }

// trigger is why the attempt runs its tick.
func (w *window) trigger() ledger.Trigger {
	switch {
	case w.rerun():
		return ledger.ByRerun
	case w.caughtUp:
		return ledger.ByCatchUp
	default:
		return w.assignment.Tick.Trigger
	}
}

// pause waits for d. It returns false, with the verdict, if the attempt must end.
func (w *window) pause(d time.Duration) bool {
	return w.wait(d, nil, w.verdict.Outcome) == timeUp || w.cutShort(w.verdict)
}

// wait waits for d, or for what it waits for (nil: nothing), or until the attempt must end:
// the replica drains, or a later tick comes to which this one yields. closing would be the
// outcome at the end of the window.
func (w *window) wait(d time.Duration, what <-chan struct{}, closing ledger.Outcome) waking {
	b := w.assignment
	overtaken := b.overtaken()
	if overtaken && w.yields(closing) {
		return cutOff
	}
	later := b.overtook
	if overtaken {
		later = nil
	}
	if d > 0 || what != nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		for due := false; !due; {
			select {
			case <-timer.C:
				due = true
			case <-what:
				return given
			case <-b.waitCtx.Done():
				return cutOff
			case <-later:
				if w.yields(closing) {
					return cutOff
				}
				later = nil
			}
		}
	}
	if b.waitCtx.Err() != nil {
		return cutOff
	}
	return timeUp
}

// yields reports whether the tick is given up for a later one; closing would be its outcome.
func (w *window) yields(closing ledger.Outcome) bool {
	if w.caughtUp && w.assignment.Job.CatchUp.Mode == jobs.CatchUpLast {
		return !w.rerun()
	}
	return closing == ledger.Skipped && w.assignment.patient()
}

// stop sets the last verdict. It returns false, as every step does that ends the attempt.
func (w *window) stop(v job.Verdict) bool {
	w.verdict = v
	return false
}

// cutShort stops an attempt that waits no longer, for the reason that ended the wait; closing
// would be the verdict at the end of the window.
func (w *window) cutShort(closing job.Verdict) bool {
	b := w.assignment
	cause, last, missed := context.Cause(b.waitCtx), b.Job.CatchUp.Mode == jobs.CatchUpLast, closing.Outcome == ledger.Missed
	paused := b.PauseVerdict()
	switch {
	case paused.Kind == job.Settled:
		return w.stop(paused)
	case errors.Is(cause, ErrTooMany) && missed:
		return w.stop(b.Job.NotCaughtUp(ledger.VariantMax, closing))
	case errors.Is(cause, ErrRemoved):
		return w.stop(job.SkippedFor(ledger.CodeRemoved))
	case cause != nil && !errors.Is(cause, ErrTooMany):
		return w.stop(job.MissedFor(ledger.CodeDrained))
	case b.overtaken() && last && (w.caughtUp || missed):
		return w.stop(b.Job.NotCaughtUp(ledger.VariantLast, closing))
	case b.overtaken() && b.patient() && b.Job.Traits().Queues && !missed:
		return w.stop(job.Queued())
	case w.caughtUp && missed:
		return w.stop(b.Job.NotCaughtUp(ledger.VariantWindow, closing))
	default:
		return w.stop(closing)
	}
}

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
	if !w.assignment.patient() && !w.caughtUp {
		took = min(took, w.remaining()/4/slowFactor)
	}
	switch {
	case w.assignment.patient() || w.caughtUp || w.remaining() > w.deps.cfg.Window:
		longest = longestWait
	case errors.Is(why, locking.ErrTaken), undecided(why):
		crowded := min(time.Duration(max(w.assignment.eligible, 1))*longestRetry, longestWait, w.remaining()/4)
		longest = max(longest, crowded)
	}
	return retryDelay(tries, took, longest, below)
}

// judge reports whether a refusal is final for replica while the tick's window is open, and
// the verdict then. It is final only if a quorum agrees on what became of the tick, or if one
// node knows it for certain: rights, space and settings of a store may be corrected
// meanwhile. A claim of the replica itself is one that it has given up without reaching the
// nodes.
func judge(err error, replica string) (v job.Verdict, final bool) {
	switch {
	case errors.Is(err, locking.ErrClaimed) && claimant(err) == replica:
		return job.Verdict{}, false
	case errors.Is(err, locking.ErrDone), errors.Is(err, locking.ErrClaimed):
		return job.Verdict{Kind: job.Lost, Err: err}, true
	case errors.Is(err, locking.ErrSuperseded):
		return job.MissedFor(ledger.CodeSuperseded), true
	case errors.Is(err, locking.ErrUnvouched):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeUnvouched, err)), true
	default:
		return job.Verdict{}, false
	}
}

// unanswered reports whether a try, or a look, was not answered in time.
func unanswered(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrTooSlow) || errors.Is(err, locking.ErrSilent)
}

// undecided reports whether a try, or a look, has found nobody else: the store has not
// answered, or refuses.
func undecided(err error) bool { return unanswered(err) || errors.Is(err, locking.ErrRefused) }

// claimant is the replica that has the tick or the slot, as far as err says.
func claimant(err error) string {
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		return refused.Holder
	}
	return ""
}

// atWindowEnd is the verdict on a tick whose window closes; err was the last refusal. The
// record of a run replaces it.
func atWindowEnd(err error, t job.Tick) job.Verdict {
	switch {
	case errors.Is(err, locking.ErrUnclaimed): // it matches ErrTaken
		return job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeUndecided, Variant: ledger.VariantUnclaimed, Details: &ledger.Details{Holder: job.OrAnotherReplica("")}})
	case errors.Is(err, locking.ErrTaken):
		return overlapSkip(err, t)
	case errors.Is(err, locking.ErrClaimed):
		return job.MissedFor(ledger.CodeUndecided)
	case errors.Is(err, locking.ErrNoQuorum), errors.Is(err, locking.ErrSilent):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeNoQuorum, err))
	case errors.Is(err, locking.ErrRefused):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeRefused, err))
	case errors.Is(err, locking.ErrSplit):
		return job.MissedFor(ledger.CodeSplit)
	case errors.Is(err, locking.ErrTooSlow):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeTooSlow, err))
	case errors.Is(err, locking.ErrNodeAhead), errors.Is(err, locking.ErrFuture):
		return job.Because(ledger.Missed, withAnswers(ledger.CodeClock, err))
	case errors.Is(err, context.Canceled):
		return job.MissedFor(ledger.CodeDrained)
	default:
		return job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeOther, Variant: ledger.VariantClaim, Details: &ledger.Details{Text: err.Error()}})
	}
}

// withAnswers is a reason with the answer of each unwilling node, or of the store.
func withAnswers(code ledger.Code, err error) ledger.Reason {
	reason := ledger.Reason{Code: code}
	refused, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return reason
	}
	nodes, ahead := refused.Votes.Of > 0, errors.Is(err, locking.ErrNodeAhead)
	switch {
	case nodes && ahead:
		reason.Variant = ledger.VariantNodes
	case !nodes && (ahead || code == ledger.CodeNoQuorum):
		reason.Variant = ledger.VariantStore
	}
	var answers []string
	for _, n := range refused.Nodes {
		if nodes {
			answers = append(answers, n.Error())
		} else {
			answers = append(answers, n.Err.Error())
		}
	}
	if len(answers) > 0 {
		reason.Details = &ledger.Details{Text: strings.Join(answers, "; ")}
	}
	return reason
}

// overlapSkip is the verdict on a tick whose window closes while another claim holds the
// job's lock.
func overlapSkip(err error, t job.Tick) job.Verdict {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return job.Overlapping("another run", time.Time{}, time.Time{})
	}
	if taken.HolderTick.Equal(t.At) {
		return job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodeUndecided, Variant: ledger.VariantHolder, Details: &ledger.Details{Holder: job.OrAnotherReplica(taken.Holder)}})
	}
	return job.HeldElsewhere(taken.Holder, taken.HolderTick, taken.Until)
}
