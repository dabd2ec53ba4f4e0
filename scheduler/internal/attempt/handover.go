package attempt

import (
	"errors"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// With on_crash: rerun, a run that a drain ends is handed over: its lease ends, its tick is
// not done, and another replica claims it again, with a larger token and attempt, and the
// remaining tries. The replicas that watch the tick check for that every second (rerun.go).
// If none is alive, the next one to start finds the run interrupted.

// handsOver reports whether another replica is to run the tick again: the drain ended the
// run, or came between two of its tries. It counts the tries that failed for other reasons.
func (x *execution) handsOver() (spent int, does bool) {
	if x.Job.OnCrash != job.CrashRerun || x.end.err == nil {
		return 0, false
	}
	_, skipped := errors.AsType[*jobs.SkipError](x.end.err)
	switch {
	case skipped, jobs.IsPermanent(x.end.err), errors.Is(x.end.err, fence.ErrStale):
		return 0, false
	case x.end.why.Code == ledger.CodeNoRetry && x.end.why.Variant == ledger.VariantDrain:
		return x.spent + x.end.tries, true
	default: // the last try is repeated
		return x.spent + x.end.tries - 1, errors.Is(x.end.cause, jobs.ErrDraining)
	}
}

// takeOver reads how many tries earlier attempts have used, if the job has more than one.
func (x *execution) takeOver() {
	if x.Claim.Attempt < 2 || x.Job.Retry.Attempts < 2 {
		return
	}
	// Without an answer the function gets all tries, as after a crash.
	for _, run := range x.recorded(x.runs, maxHandovers) {
		if run.HandedOver() {
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
func (t *task) watchesHandover(err error) bool {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return false
	}
	rank := 0
	own := job.Weight(t.Job.StoredAs(), t.Tick.At, t.cfg.Replica)
	for _, r := range t.Live() {
		if r.ID != t.cfg.Replica && r.ID != taken.Holder && job.Fits(r.Labels, t.Job.Labels) &&
			job.Ahead(t.Job.StoredAs(), t.Tick.At, r.ID, t.cfg.Replica, own) {
			rank++
		}
	}
	return rank < handoverWatchers
}
