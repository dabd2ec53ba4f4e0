package scheduler

import (
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// An Observer is told what happens. Any field may be nil. The functions are
// called from the engine's and from runs' goroutines, must not block and must
// not call back into the Scheduler. Logs, metrics and live views are observers.
type Observer struct {
	// Claimed: this replica won the tick. Started follows, or Unused. Took is the time
	// from the first message of the winning attempt.
	Claimed func(job string, claim locking.Claim, took time.Duration)
	// Tried: one try to claim the tick has ended and took so long; err, an
	// *locking.AcquireError as a rule, is why it was not granted, nil if it was.
	Tried func(job string, tick time.Time, took time.Duration, err error)
	// Started: the function of the run that was just Claimed is about to be called,
	// so long behind the time of its tick, jitter taken off. If it is set, the entry
	// is made for it.
	Started func(e Entry, behind time.Duration)
	// Unused: the claim that was just Claimed is given back, since it came too late
	// to begin the work. Decided follows, and not Finished.
	Unused func(job string, claim locking.Claim)
	// Lost: another replica runs, or ran, the tick.
	Lost func(job string, tick time.Time, err error)
	// Retrying: the attempt failed in a way that may pass.
	Retrying func(job string, tick time.Time, err error, in time.Duration)
	// Decided: the tick will not run, for e.Reason.
	Decided func(e Entry)
	// Retried: the given call of the function ended with err; it is called again
	// under the same claim after the pause. The run's own Logger has said so.
	Retried func(job string, claim locking.Claim, try int, err error, in time.Duration)
	// Extended: a running job's lease was extended, or not.
	Extended func(job string, claim locking.Claim, e locking.Extension)
	// Released: the lease of a run that has ended was given back, or not, which took
	// so long. Left is how much longer it would have lasted, negative if it had run
	// out. Finished follows.
	Released func(job string, claim locking.Claim, left, took time.Duration, err error)
	// Settled: the ledger took it from this replica, first of all that noticed, and
	// knows of no run: told once in the cluster, as a rule. Where the ledger cannot
	// be asked each replica is told. If it is set, each recorded tick is read back.
	Settled func(e Entry)
	// Late: the run that was just Claimed starts so long after its time that
	// Job.LateAfter wants it told.
	Late func(e Entry, by time.Duration)
	// LeaseLost: the context of the run has ended because its lease could not be
	// kept. Finished follows when the function has returned.
	LeaseLost func(e Entry, cause error)
	// Overdue: the function ignores its ended context since the given time.
	Overdue func(job string, claim locking.Claim, since time.Time)
	// Refused: a guard refused a write of the run as stale. The run's own Logger
	// has said so.
	Refused func(job string, claim locking.Claim, stale fence.StaleError)
	// Finished: a run ended, well or not, as e.Outcome says; released says whether
	// the ledger has it.
	Finished func(e Entry, released error)
	// Recorded: the ledger took, or did not take, a tick that did not run.
	Recorded func(e Entry, err error)
	// NotArchived: what the run of the tick logged could not be kept.
	NotArchived func(job string, tick time.Time, err error)
	// Chained: the run has asked for a run of the job with the key, or could not.
	Chained func(job, run, key string, err error)
	// ClockJumped: wall and monotonic clock moved apart by so much, forwards
	// when positive (a suspended machine, or somebody set the clock).
	ClockJumped func(by time.Duration)
	// Overslept: ticks from first to before were not noticed in time and are
	// too many to record one by one.
	Overslept func(job string, first, before time.Time)
	// Updated: other jobs are served from now on.
	Updated func(d Diff)
	// UpdateFailed: new jobs could not be read or are not valid, and those of
	// before go on. It is told again when the reason changes, and nil when all
	// is well again.
	UpdateFailed func(err error)
	// Forgotten: what was kept of a job that no replica has served since then was
	// dropped; or, with an error, could not be, and is tried again.
	Forgotten func(job string, served time.Time, err error)
	// Unread: the ledger could not be read to see which ticks of the job nobody
	// ran; none of them is caught up.
	Unread func(job string, err error)
	// Draining: no new ticks; the runs of these jobs are still going on.
	Draining func(running []string)
}

// withNoops returns a copy in which no function is nil but those that cost
// something when they are set: Settled and Started.
func (o Observer) withNoops() Observer {
	if o.Claimed == nil {
		o.Claimed = func(string, locking.Claim, time.Duration) {}
	}
	if o.Tried == nil {
		o.Tried = func(string, time.Time, time.Duration, error) {}
	}
	if o.Unused == nil {
		o.Unused = func(string, locking.Claim) {}
	}
	if o.Lost == nil {
		o.Lost = func(string, time.Time, error) {}
	}
	if o.Retrying == nil {
		o.Retrying = func(string, time.Time, error, time.Duration) {}
	}
	if o.Decided == nil {
		o.Decided = func(Entry) {}
	}
	if o.Retried == nil {
		o.Retried = func(string, locking.Claim, int, error, time.Duration) {}
	}
	if o.Extended == nil {
		o.Extended = func(string, locking.Claim, locking.Extension) {}
	}
	if o.Released == nil {
		o.Released = func(string, locking.Claim, time.Duration, time.Duration, error) {}
	}
	if o.Late == nil {
		o.Late = func(Entry, time.Duration) {}
	}
	if o.LeaseLost == nil {
		o.LeaseLost = func(Entry, error) {}
	}
	if o.Overdue == nil {
		o.Overdue = func(string, locking.Claim, time.Time) {}
	}
	if o.Refused == nil {
		o.Refused = func(string, locking.Claim, fence.StaleError) {}
	}
	if o.Finished == nil {
		o.Finished = func(Entry, error) {}
	}
	if o.Recorded == nil {
		o.Recorded = func(Entry, error) {}
	}
	if o.NotArchived == nil {
		o.NotArchived = func(string, time.Time, error) {}
	}
	if o.Chained == nil {
		o.Chained = func(string, string, string, error) {}
	}
	if o.ClockJumped == nil {
		o.ClockJumped = func(time.Duration) {}
	}
	if o.Overslept == nil {
		o.Overslept = func(string, time.Time, time.Time) {}
	}
	if o.Updated == nil {
		o.Updated = func(Diff) {}
	}
	if o.UpdateFailed == nil {
		o.UpdateFailed = func(error) {}
	}
	if o.Forgotten == nil {
		o.Forgotten = func(string, time.Time, error) {}
	}
	if o.Unread == nil {
		o.Unread = func(string, error) {}
	}
	if o.Draining == nil {
		o.Draining = func([]string) {}
	}
	return o
}
