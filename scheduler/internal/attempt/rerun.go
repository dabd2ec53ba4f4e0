package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
)

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
