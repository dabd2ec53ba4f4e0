package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// With on_crash: rerun, a run that a drain ends is handed over: its lease ends, its tick is
// not done, and another replica claims it again, with a larger token and attempt, and the
// remaining tries. The replicas that watch the tick check for that every second (rerun.go).
// If none is alive, the next one to start finds the run interrupted.

// handsOver reports whether another replica is to run the tick again: the drain ended the
// run, or came between two of its tries. It counts the tries that failed for other reasons.
func (x *Execution) handsOver(end *ending) (spent int, does bool) {
	if x.Job.OnCrash != job.CrashRerun || end.err == nil {
		return 0, false
	}
	_, skipped := errors.AsType[*jobs.SkipError](end.err)
	switch {
	case skipped, jobs.IsPermanent(end.err), errors.Is(end.err, fence.ErrStale):
		return 0, false
	case end.why.Code == ledger.CodeNoRetry && end.why.Variant == ledger.VariantDrain:
		return x.spent + end.tries, true
	default: // the last try is repeated
		return x.spent + end.tries - 1, errors.Is(end.cause, jobs.ErrDraining)
	}
}

// handOver ends the run for another replica. It first frees what the next attempt needs.
func (x *Execution) handOver(entry ledger.Entry) {
	x.freeSlot()
	x.leavePlace()
	released := x.release(entry, x.lease.HandOver)
	x.notifyOf(entry, event.Event{Kind: event.Finished, Err: released})
	x.archive(entry)
}

// takeOver reads how many tries earlier attempts have used, if the job has more than one.
func (x *Execution) takeOver() {
	if x.Claim.Attempt < 2 || x.Job.Retry.Attempts < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(x.runs, ledgerLook)
	defer cancel()
	id := x.Tick.Entry(x.Job, "").ID()
	// Without an answer the function gets all tries, as after a crash.
	runs, _ := x.cfg.Ledger.Runs(ctx, ledger.Query{
		Job: x.Job.StoredAs(), Limit: maxHandovers, Since: x.Tick.At, Before: x.Tick.At.Add(time.Millisecond),
	})
	for _, run := range runs {
		if run.ID() == id && run.HandedOver() {
			x.spent = max(x.spent, run.Spent)
		}
	}
}

// maxHandovers bounds the attempts of a tick that takeOver reads.
const maxHandovers = 20

// handoverWatchers is how many replicas check every second whether a run was handed over.
// The others wait for the end of its lease.
const handoverWatchers = 2

// watchesHandover reports whether this replica is one of those for the tick that the holder
// runs: those with the smallest ranks.
func (a *attempt) watchesHandover(err error) bool {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return false
	}
	rank := 0
	own := job.Weight(a.Job.StoredAs(), a.Tick.At, a.cfg.Replica)
	for _, r := range a.Live() {
		if r.ID != a.cfg.Replica && r.ID != taken.Holder && job.Fits(r.Labels, a.Job.Labels) &&
			job.Ahead(a.Job.StoredAs(), a.Tick.At, r.ID, a.cfg.Replica, own) {
			rank++
		}
	}
	return rank < handoverWatchers
}
