package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
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
// that is due; if they find nothing, they wait for their claim permit.

// maxHints is how many hints an attempt follows one after the other. So many nodes are a
// quorum of seven, and know whether the tick is claimed.
const maxHints = 4

// looks are an attempt's looks.
type looks struct {
	view  locking.Watch // nil until the first one
	count int           // those that were followed by a pause
	hints int           // those of them since the last try
}

// peek looks at the tick, and reports whether it then waited: if so, it is time to look
// again.
func (a *attempt) peek(tries int) (waited, ok bool) {
	hint := a.look()
	if v, _ := judge(hint, a.deps.cfg.Replica); v.Kind == job.Lost {
		return false, a.window.stop(v)
	}
	early := a.headStart
	a.headStart = 0
	if hint == nil && early > 0 {
		a.leave()
		return true, a.window.pause(early)
	}
	a.hearNothing(hint)
	silent := errors.Is(hint, locking.ErrSilent)
	if silent && tries == 0 {
		a.window.verdict = atWindowEnd(hint, a.assignment.Tick)
	}
	in := a.window.retryDelay(1+tries+a.looks.count, 0, hint, a.together)
	if !silent && !errors.Is(hint, locking.ErrTaken) || a.looks.hints == maxHints || in >= a.window.remaining() {
		a.looks.hints = 0
		return false, true
	}
	a.looks.hints++
	a.looks.count++
	if !silent {
		a.blocked = true
		a.reportBlocked(hint)
	}
	a.leave()
	if a.window.rerun() && a.assignment.runsOnOther(hint, a.deps.cfg.Replica) {
		return true, a.watchLease(hint) || a.window.cutShort(a.window.verdict)
	}
	return true, a.window.pause(in)
}

// look asks one node about the tick: nil if nothing blocks it, or if the Locker cannot
// look.
func (a *attempt) look() error {
	begun := time.Now()
	if a.looks.view == nil {
		w, can := a.deps.cfg.Locker.(locking.Watcher)
		if !can {
			return nil
		}
		a.looks.view = w.Watch(a.deps.request(a.assignment), a.spread())
	}
	err := a.looks.view.Look(a.deps.stops.Claims)
	a.deps.claimPermits.note(begun, err)
	return err
}

// together is a duration below limit that is the same for everything that is due on this
// replica at one instant: so looking again takes one message, too.
func (a *attempt) together(limit time.Duration) time.Duration {
	return limit/2 + time.Duration(uint64(limit/2)*(a.spread()>>32)>>32)
}

// spread is a number for everything that is due on this replica at one instant.
func (a *attempt) spread() uint64 { return job.Weight("", a.assignment.Tick.Start, a.deps.cfg.Replica) }

// EarlierTicks is what an attempt knows of the ticks before its own.
type EarlierTicks struct {
	Unsure      bool      // one may have to be rerun first: ask the ledger before the next try
	WatchedUpTo time.Time // none up to here
	doubted     time.Time // the tick that last blocked this one
	first       job.Tick  // comes first; zero: none
}

func (h *EarlierTicks) found() bool { return h != nil && !h.first.IsZero() }

// findTimeout bounds the question to the ledger.
const findTimeout = 5 * time.Second

// find asks the ledger, if needed, which tick comes before that of b. An error says that it
// did not answer.
func (h *EarlierTicks) find(ctx context.Context, d *Deps, b *Assignment) error {
	if h == nil || !h.Unsure {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	earlier, err := d.engine.FindRerun(ctx, b.Job, b.Tick.At)
	switch {
	case err != nil && (presence.Passing(err) || ctx.Err() != nil):
		return fmt.Errorf("ask the ledger whether an earlier run was interrupted: %w", err)
	case err != nil:
		d.cfg.Observer(event.Event{Kind: event.Unread, Entry: ledger.Entry{Job: b.Job.Name}, Err: err})
	case earlier.At.After(h.WatchedUpTo):
		h.first = earlier
	}
	h.Unsure = false
	return nil
}

// doubt makes the attempt of own ask the ledger before its next try, if err names an earlier
// tick of another replica that is not known here.
func (h *EarlierTicks) doubt(err error, replica string, own time.Time) {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if ok && h != nil && taken.Holder != replica && taken.HolderTick.Before(own) &&
		taken.HolderTick.After(h.WatchedUpTo) && !taken.HolderTick.Equal(h.doubted) {
		h.Unsure, h.doubted = true, taken.HolderTick
	}
}

// With on_crash: rerun a tick is claimed at least once. The replicas that lost it watch the
// winner's lease. When that ends without a result, they claim the tick again, with a larger
// token and attempt. Later ticks wait until it is decided, since no tick before a claimed
// one can be claimed. They wait as for any earlier run, by their overlap policy.

// runsOnOther reports whether err says that a replica other than own has claimed the tick,
// which own reruns if that one dies.
func (b *Assignment) runsOnOther(err error, own string) bool {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	return ok && b.Job.OnCrash == jobs.CrashRerun && errors.Is(err, locking.ErrTaken) &&
		taken.HolderTick.Equal(b.Tick.At) && taken.Holder != own
}

// hearNothing tells the loop, if err is no answer, that the watched run may have ended.
func (a *attempt) hearNothing(err error) {
	if a.window.watched && undecided(err) && !errors.Is(err, locking.ErrTooSlow) {
		a.loop.Report(Progress{Phase: Watching, SilenceVerdict: atWindowEnd(err, a.assignment.Tick)})
	}
}

// longestTakeover bounds the pause between checks of a lease while later ticks wait.
const longestTakeover = time.Second

// watchLease waits until the lease of the tick should have ended, or the next tick comes.
// It returns false if this replica stops watching.
func (a *attempt) watchLease(err error) bool {
	taken, _ := errors.AsType[*locking.AcquireError](err)
	w, b := &a.window, a.assignment
	if !w.watched {
		w.watched = true
		a.notify(event.Event{Kind: event.Lost, Err: err})
	}
	a.loop.Report(Progress{Phase: Watching, Blocker: &Blocker{Holder: taken.Holder, Tick: taken.HolderTick, Until: taken.Until}})
	w.until = a.deps.engine.Now().Add(b.Job.CatchUp.Window)
	in := time.Millisecond + a.random(longestTakeover)
	later := b.overtook
	switch {
	case b.overtaken():
		later = nil
	case a.deps.watchesHandover(b, taken.Holder):
		in = min(in, max(0, time.Until(taken.Until))) + longestTakeover/4
	default:
		in += max(0, time.Until(taken.Until))
	}
	timer := time.NewTimer(in)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-later:
	case <-b.waitCtx.Done():
	}
	return b.waitCtx.Err() == nil
}

// handoverWatchers is how many replicas check every second whether a run was handed over.
// The others wait for the end of its lease.
const handoverWatchers = 2

// watchesHandover reports whether this replica is one of those for the tick that the holder
// runs: those with the smallest ranks.
func (d *Deps) watchesHandover(b *Assignment, holder string) bool {
	rank, own, key, at := 0, d.cfg.Replica, b.Job.StoredAs(), b.Tick.At
	weight := job.Weight(key, at, own)
	for _, r := range d.engine.Live() {
		if r.ID != own && r.ID != holder && job.Fits(r.Labels, b.Job.Labels) && job.Ahead(key, at, r.ID, own, weight) {
			rank++
		}
	}
	return rank < handoverWatchers
}
