package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// With on_crash: rerun a tick is claimed at least once. The replicas that lost it watch the
// winner's lease. When that ends without a result, they claim the tick again, with a larger
// token and attempt. Later ticks wait until it is decided, since no tick before a claimed
// one can be claimed. They wait as for any earlier run, by their overlap policy.

// longestTakeover bounds the pause between checks of a lease while later ticks wait.
const longestTakeover = time.Second

// mode is how often the job's ticks may be claimed.
func (j *Job) mode() locking.Mode {
	if j.OnCrash == CrashRerun {
		return locking.AtLeastOnce
	}
	return locking.AtMostOnce
}

// runsElsewhere reports whether err says that another replica has claimed the tick, which
// this replica reruns if the other one dies.
func (a *attempt) runsElsewhere(err error) bool {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	return ok && a.job.OnCrash == CrashRerun && errors.Is(err, locking.ErrTaken) &&
		taken.HolderTick.Equal(a.tick.at) && taken.Holder != a.cfg.Replica
}

// watchLease waits until the lease of the tick should have ended, or the next tick comes.
// It returns false if this replica stops watching.
func (a *attempt) watchLease(err error) bool {
	taken, _ := errors.AsType[*locking.AcquireError](err)
	if !a.watched {
		a.watched = true
		a.notify(Event{Kind: EventLost, Err: err})
		a.report(progress{phase: watching, holder: taken.Holder})
	}
	a.until = a.clock.wall().Add(a.job.CatchUp.withDefaults().Window)
	in := time.Millisecond + a.cfg.Random(a.job.Name, a.tick.at, longestTakeover)
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

// rerun reports whether another replica has begun the tick before.
func (a *attempt) rerun() bool { return a.watched || a.tick.trigger == ledger.ByRerun }

// behindRun is the verdict on a late tick that waits behind an earlier run: none yet if its
// policy lets it wait, or skipped.
func (l *lane) behindRun(j *job, newer int, skipped verdict) verdict {
	switch policy := j.Overlap.traits(); {
	case policy.patient && newer == 0:
		return verdict{kind: again}
	case policy.queues:
		return queued()
	default:
		return skipped
	}
}

// reopenWindows extends the windows of ticks whose policy let them wait behind a run on
// another replica.
func (l *lane) reopenWindows(j *job, until time.Time) {
	if !j.Overlap.traits().patient {
		return
	}
	for i := range l.queue {
		if l.queue[i].trigger != ledger.ByCatchUp && l.queue[i].until.Before(until) {
			l.queue[i].until = until
		}
	}
}

// findRerun finds the last tick that ran, if its run was interrupted, or may be soon.
func (p past) findRerun(ctx context.Context, store ledger.Store, now time.Time, window time.Duration) (tick, error) {
	if p.job.OnCrash != CrashRerun {
		return tick{}, nil
	}
	before := p.before
	for n, size := 0, firstPage; n < maxPast; n, size = n+size, pastPage {
		page, err := store.Ticks(ctx, ledger.Query{Job: p.job.key(), Limit: size, Before: before})
		if err != nil {
			return tick{}, err
		}
		for _, e := range page {
			if e.Stream == "" && e.Outcome.Ran() {
				return p.again(e, now, window), nil
			}
		}
		if len(page) < size {
			break
		}
		before = page[len(page)-1].OrderKey()
	}
	return tick{}, nil
}

// again is the tick of a run that has not ended, unless it was interrupted too long ago. A
// run that continues is watched, however long it takes.
func (p past) again(last ledger.Entry, now time.Time, window time.Duration) tick {
	t, from := p.job.scheduled(last.Tick, window), last.Tick
	if last.Outcome == ledger.Running {
		from = later(from, now)
	}
	t.latest = from.Add(p.job.CatchUp.withDefaults().Window)
	if last.Outcome != ledger.Running && last.Outcome != ledger.Interrupted || !t.latest.After(now) {
		return tick{}
	}
	t.trigger, t.why = ledger.ByRerun, &ledger.Reason{Code: ledger.CodeInterrupted}
	return t
}
