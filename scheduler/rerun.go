package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// With on_crash: rerun a tick is claimed at least once. The replicas that lost it
// watch the lease of the one that runs it: when that ends without a word, they
// claim the tick again, with a larger token and attempt. The ticks after it wait
// until it is decided, since none before a tick that was claimed ever can be.
// They wait as for any earlier run, by their overlap policy.

// longestTakeover bounds the pause after which the end of a lease is looked for
// while later ticks wait.
const longestTakeover = time.Second

// mode says how often the job's ticks may be claimed.
func (j *Job) mode() locking.Mode {
	if j.OnCrash == CrashRerun {
		return locking.AtLeastOnce
	}
	return locking.AtMostOnce
}

// runsElsewhere tells whether err says that another replica runs the tick, or is
// about to, which this one runs again should that die.
func (a *attempt) runsElsewhere(err error) bool {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	return ok && a.job.OnCrash == CrashRerun && errors.Is(err, locking.ErrTaken) &&
		taken.HolderTick.Equal(a.tick.at) && taken.Holder != a.cfg.Replica
}

// standBy waits until the lease that keeps the tick should have ended, or the next
// tick comes. It returns false if this replica watches no longer.
func (a *attempt) standBy(err error) bool {
	taken, _ := errors.AsType[*locking.AcquireError](err)
	if !a.watched {
		a.watched = true
		a.tell(Event{Kind: EventLost, Err: err})
		a.report(progress{phase: watching, holder: taken.Holder})
	}
	a.until = a.clock.wall().Add(a.job.CatchUp.withDefaults().Window)
	in := time.Millisecond + a.cfg.Random(a.job.Name, a.tick.at, longestTakeover)
	later := a.later
	switch {
	case a.overtaken():
		later = nil
	case a.minds(err):
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

// rerun tells whether the tick was begun before, elsewhere.
func (a *attempt) rerun() bool { return a.watched || a.tick.trigger == ledger.ByRerun }

// behindRun is the verdict on a late tick that waits behind an earlier run, and
// nothing yet if its policy lets it go on waiting. Skipped is the one if it does not.
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

// standDown opens the window of ticks that their policy let wait behind one that
// another replica ran.
func (l *lane) standDown(j *job, until time.Time) {
	if !j.Overlap.traits().patient {
		return
	}
	for i := range l.queue {
		if l.queue[i].trigger != ledger.ByCatchUp && l.queue[i].until.Before(until) {
			l.queue[i].until = until
		}
	}
}

// lookAgain finds the last tick that ran, if its run was interrupted, or may be
// before long: it is offered again.
func (p past) lookAgain(ctx context.Context, store ledger.Store, now time.Time, window time.Duration) (tick, error) {
	if p.job.OnCrash != CrashRerun {
		return tick{}, nil
	}
	before := p.before
	for n, size := 0, firstPage; n < mostPast; n, size = n+size, pastPage {
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

// again is the tick of a run that has not ended, unless it was interrupted too long
// ago. One that goes on is watched, however long it takes.
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
