package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A drain ends runs that a crash would have repeated. Where on_crash is rerun, such
// a run is handed over: its lease ends, its tick is not done, and another replica
// claims it again, with a larger token and attempt, and the tries that are left. The
// replicas that watch the tick look at it every second for that (rerun.go); if none
// lives, the next to start finds the run interrupted.

// handsOver tells whether the run is to be run again by another replica: the drain
// ended it, or the drain came between two of its tries. It counts the tries that
// have failed by themselves.
func (x *execution) handsOver(end *ending) (spent int, does bool) {
	if x.job.OnCrash != CrashRerun || end.err == nil {
		return 0, false
	}
	_, skipped := errors.AsType[*jobs.SkipError](end.err)
	switch {
	case skipped, jobs.IsPermanent(end.err), errors.Is(end.err, fence.ErrStale):
		return 0, false
	case end.why.Code == ledger.CodeNoRetry && end.why.Variant == ledger.VariantDrain:
		return x.spent + end.tries, true
	default: // the last one is repeated
		return x.spent + end.tries - 1, errors.Is(end.cause, jobs.ErrDraining)
	}
}

// handOver ends the run for another replica. What the next attempt needs is free
// before it can begin.
func (x *execution) handOver(entry ledger.Entry) {
	x.freeSlot()
	x.leavePlace()
	released := x.release(entry, x.lease.HandOver)
	x.tellOf(entry, Event{Kind: EventFinished, Err: released})
	x.archive(entry)
}

// takeOver reads how many tries those that handed the tick over have used up, of a
// job that has more than one.
func (x *execution) takeOver() {
	if x.claim.Attempt < 2 || x.job.Retry.Attempts < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(x.runs, ledgerLook)
	defer cancel()
	id := x.tick.entry(x.job, "").ID()
	// Without an answer the function gets all tries, as after a crash.
	runs, _ := x.cfg.Ledger.Runs(ctx, ledger.Query{
		Job: x.job.key(), Limit: maxHandovers, Since: x.tick.at, Before: x.tick.at.Add(time.Millisecond),
	})
	for _, run := range runs {
		if run.ID() == id && run.HandedOver() {
			x.spent = max(x.spent, run.Spent)
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
