package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// A drain ends runs that a crash would have repeated. Where on_crash is rerun, such
// a run is handed over: its lease ends, its tick is not done, and another replica
// claims it again, with a larger token and attempt, and the tries that are left. The
// replicas that watch the tick look at it every second for that (rerun.go); if none
// lives, the next to start finds the run interrupted.

// handsOver tells whether the run is to be run again by another replica: the drain
// ended it, or the drain came between two of its tries. It counts the tries that
// have failed by themselves.
func (a *attempt) handsOver(end *ending) (spent int, does bool) {
	if a.job.OnCrash != CrashRerun || end.err == nil {
		return 0, false
	}
	_, skipped := errors.AsType[*jobs.SkipError](end.err)
	switch {
	case skipped, jobs.IsPermanent(end.err), errors.Is(end.err, fence.ErrStale):
		return 0, false
	case end.why.Code == CodeNoRetry && end.why.Variant == VariantDrain:
		return a.spent + end.tries, true
	default: // the last one is repeated
		return a.spent + end.tries - 1, errors.Is(end.cause, jobs.ErrDraining)
	}
}

// handOver ends the run for another replica. What the next attempt needs is free
// before it can begin.
func (a *attempt) handOver(entry Entry) {
	a.freeSlot()
	a.leavePlace()
	released := a.release(entry, a.lease.HandOver)
	a.cfg.Observer.Finished(entry.named(a.job.Name), released)
	a.archive(entry)
}

// HandedOver tells whether e is a run that a drain has ended, and that another
// replica runs again: an Interrupted one whose end is known.
func (e Entry) HandedOver() bool { return e.Outcome == Interrupted && !e.Finished.IsZero() }

// takeOver reads how many tries those that handed the tick over have used up, of a
// job that has more than one.
func (a *attempt) takeOver() {
	if a.claim().Attempt < 2 || a.job.Retry.Attempts < 2 {
		return
	}
	a.keepOn()
	ctx, cancel := context.WithTimeout(&a.runs, ledgerLook)
	defer cancel()
	id := a.tick.entry(a.job, "").ID()
	// Without an answer the function gets all tries, as after a crash.
	runs, _ := a.cfg.Ledger.Runs(ctx, Query{
		Job: a.job.key(), Limit: maxHandovers, Since: a.tick.at, Before: a.tick.at.Add(time.Millisecond),
	})
	for _, run := range runs {
		if run.ID() == id && run.HandedOver() {
			a.spent = max(a.spent, run.Spent)
		}
	}
}

// maxHandovers bounds the attempts of a tick that takeOver reads.
const maxHandovers = 20

// minders is how many replicas look every second whether a tick that another one
// runs was handed over. The others wait for the end of its lease.
const minders = 2

// minds tells whether this replica is one of those for the tick that the holder
// runs: the first in rank of those that live.
func (a *attempt) minds(err error) bool {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return false
	}
	rank := 0
	own := weight(a.job.key(), a.tick.at, a.cfg.Replica)
	for _, r := range a.live() {
		if r.ID != a.cfg.Replica && r.ID != taken.Holder && fits(r.Labels, a.job.Labels) &&
			ahead(a.job.key(), a.tick.at, r.ID, a.cfg.Replica, own) {
			rank++
		}
	}
	return rank < minders
}
