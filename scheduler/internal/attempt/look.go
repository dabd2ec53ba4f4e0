package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A replica that is not first in rank expects to find the tick claimed. It does not compete
// at once, which costs several messages to every node, but first looks, at one node.
// Everything that is due here at one instant is looked up at the same node first, in one
// message. Other replicas and instants begin with another node.
//
// A final answer ends the attempt. A competitor is only a hint, and so is a silent node,
// since a try would send even more requests. The attempt waits and looks again, at the next
// node. After a few hints, or when the window is too short to look again, it tries to claim
// and follows the quorum.

// Looks do not block anything. So only the first in rank look one after the other, each
// ready to claim at once. All others look at the same time, in one message for everything
// that is due; if they find nothing, they wait for their turn.

// maxHints is how many hints an attempt follows one after the other. So many nodes are a
// quorum of seven, and know whether the tick is claimed.
const maxHints = 4

// looks are an attempt's looks.
type looks struct {
	view  locking.Watch // nil until the first one
	count int           // those that were followed by a pause
	hints int           // those of them since the last try
}

// look asks one node about the tick: nil if nothing blocks it, or if the Locker cannot
// look.
func (a *attempt) look() error {
	begun := time.Now()
	if a.looks.view == nil {
		w, can := a.cfg.Locker.(locking.Watcher)
		if !can {
			return nil
		}
		a.looks.view = w.Watch(a.request(), a.spread())
	}
	err := a.looks.view.Look(a.stops.Claims)
	a.noteAnswer(begun, err)
	return err
}

// peek looks at the tick. After a hint it waits, and reports that it did: then it is time
// to look again. closing is the verdict if the window closed now.
func (a *attempt) peek(tries int, closing *job.Verdict) (waited bool, v job.Verdict) {
	hint := a.look()
	if v := judge(hint, a.cfg.Replica); v.Kind == job.Lost {
		return false, v
	}
	if early := a.headStart; hint == nil && early > 0 {
		a.headStart = 0
		return a.lookLater(early, *closing)
	}
	a.headStart = 0
	a.hearNothing(hint)
	silent := errors.Is(hint, locking.ErrSilent)
	if silent && tries == 0 {
		*closing = atWindowEnd(hint, a.Tick)
	}
	in := a.retryDelay(1+tries+a.looks.count, 0, hint, a.together)
	if !silent && !errors.Is(hint, locking.ErrTaken) || a.looks.hints == maxHints || in >= a.remaining() {
		a.looks.hints = 0
		return false, job.Verdict{Kind: job.Again}
	}
	a.looks.hints++
	a.looks.count++
	if !silent {
		a.blocked = true
		a.reportBlocked(hint)
	}
	if a.rerun() && a.runsElsewhere(hint) {
		a.leave()
		if !a.watchLease(hint) {
			return true, a.cutShort(*closing)
		}
		return true, job.Verdict{Kind: job.Again}
	}
	return a.lookLater(in, *closing)
}

// lookLater waits before it is time to look again.
func (a *attempt) lookLater(in time.Duration, closing job.Verdict) (waited bool, v job.Verdict) {
	a.leave()
	if a.wait(in, nil, closing) != timeUp {
		return true, a.cutShort(closing)
	}
	return true, job.Verdict{Kind: job.Again}
}

// EarlierTicks is what an attempt knows of the ticks before its own.
type EarlierTicks struct {
	Unsure      bool      // one may have to be rerun first
	WatchedUpTo time.Time // none up to here
	doubted     time.Time // the tick that last blocked this one
	first       job.Tick  // comes first; zero: none
}

func (h *EarlierTicks) found() bool { return h != nil && !h.first.IsZero() }

// postpone tells the loop to begin with the tick that comes first.
func (a *attempt) postpone() {
	a.end.Before = a.earlier.first
	if !a.caughtUp {
		a.end.Until = a.until
	}
}

// findTimeout bounds the question to the ledger.
const findTimeout = 5 * time.Second

// find asks the ledger, if needed, which tick comes before that of t. An error says that it
// did not answer.
func (h *EarlierTicks) find(ctx context.Context, t *task) error {
	if h == nil || !h.Unsure {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	earlier, err := t.FindRerun(ctx, t.Job, t.Tick.At)
	switch {
	case err != nil && (roster.Passing(err) || ctx.Err() != nil):
		return fmt.Errorf("ask the ledger whether an earlier run was interrupted: %w", err)
	case err != nil:
		t.cfg.Observer(event.Event{Kind: event.Unread, Entry: ledger.Entry{Job: t.Job.Name}, Err: err})
	case earlier.At.After(h.WatchedUpTo):
		h.first = earlier
	}
	h.Unsure = false
	return nil
}

// doubt makes the attempt ask the ledger before its next try, if err names an earlier tick
// of another replica that is not known here.
func (h *EarlierTicks) doubt(err error, t *task) {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if ok && h != nil && taken.Holder != t.cfg.Replica && taken.HolderTick.Before(t.Tick.At) &&
		taken.HolderTick.After(h.WatchedUpTo) && !taken.HolderTick.Equal(h.doubted) {
		h.Unsure, h.doubted = true, taken.HolderTick
	}
}

// With on_crash: rerun a tick is claimed at least once. The replicas that lost it watch the
// winner's lease. When that ends without a result, they claim the tick again, with a larger
// token and attempt. Later ticks wait until it is decided, since no tick before a claimed
// one can be claimed. They wait as for any earlier run, by their overlap policy.

// longestTakeover bounds the pause between checks of a lease while later ticks wait.
const longestTakeover = time.Second

// runsElsewhere reports whether err says that another replica has claimed the tick, which
// this replica reruns if the other one dies.
func (t *task) runsElsewhere(err error) bool {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	return ok && t.Job.OnCrash == job.CrashRerun && errors.Is(err, locking.ErrTaken) &&
		taken.HolderTick.Equal(t.Tick.At) && taken.Holder != t.cfg.Replica
}

// hearNothing tells the loop, if err is no answer, that the watched run may have ended.
func (a *attempt) hearNothing(err error) {
	if a.watched && undecided(err) && !errors.Is(err, locking.ErrTooSlow) {
		a.loop.Report(Progress{Phase: Watching, Unheard: atWindowEnd(err, a.Tick)})
	}
}

// watchLease waits until the lease of the tick should have ended, or the next tick comes.
// It returns false if this replica stops watching.
func (a *attempt) watchLease(err error) bool {
	taken, _ := errors.AsType[*locking.AcquireError](err)
	if !a.watched {
		a.watched = true
		a.notify(event.Event{Kind: event.Lost, Err: err})
	}
	a.loop.Report(Progress{Phase: Watching, Blocked: &Blocked{Holder: taken.Holder, Tick: taken.HolderTick, Until: taken.Until}})
	a.until = a.Now().Add(a.Job.CatchUp.Window)
	in := time.Millisecond + a.random(longestTakeover)
	later := a.later
	switch {
	case a.overtaken():
		later = nil
	case a.watchesHandover(err):
		in = min(in, max(0, time.Until(taken.Until))) + longestTakeover/4
	default:
		in += max(0, time.Until(taken.Until))
	}
	timer := time.NewTimer(in)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-later:
	case <-a.waits.Done():
	}
	return a.waits.Err() == nil
}
