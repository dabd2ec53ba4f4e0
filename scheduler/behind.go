package scheduler

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// While ticks are caught up, new ticks wait behind them in their lane. A new tick whose
// window closes during an earlier run of its job is skipped, as at any other time.
// Otherwise a job whose runs take longer than its period would never be on time again.

// keptOut reports whether an earlier run of the job has blocked a scheduled tick from the
// end of its window until now. The verdict names the run.
func (j *jobState) keptOut(l *lane, t job.Tick) (job.Verdict, bool) {
	if t.Trigger != ledger.BySchedule || !j.CatchesUp() || j.Traits().Beside {
		return job.Verdict{}, false
	}
	for _, of := range j.running {
		if !of.run.Started.After(t.Until) {
			return attempt.StillRunning(of.run), true
		}
	}
	if b := l.blocked; b != nil && !b.since.After(t.Until) && !b.last.Before(t.Until) {
		return job.HeldElsewhere(b.Holder, b.Tick, b.Until), true
	}
	return job.Verdict{}, false
}

// A blockade is the run on another replica that attempts of a lane have found in their way,
// as long as they find nothing else.
type blockade struct {
	attempt.Blocked
	since, last time.Time // when it was found first and last
}

// block stores what blocks an attempt of the lane.
func (l *lane) block(by *attempt.Blocked, now time.Time) {
	if by == nil {
		l.blocked = nil
		return
	}
	since := now
	if l.blocked != nil {
		since = l.blocked.since
	}
	l.blocked = &blockade{Blocked: *by, since: since, last: now}
}

// ranUntilNow removes a run that has ended, after it has decided the ticks that the run
// blocked.
func (d *dispatcher) ranUntilNow(t *ticket) {
	j := t.owner
	i := slices.Index(j.running, t)
	if i < 0 {
		return
	}
	l := j.lane("")
	d.prune(j, l)
	l.blocked = nil
	j.running = slices.Delete(j.running, i, i+1)
}

// behindRun is the verdict on a late tick that waits behind an earlier run: none yet if its
// policy lets it wait, or skipped.
func (l *lane) behindRun(j *jobState, newer int, skipped job.Verdict) job.Verdict {
	switch policy := j.Traits(); {
	case policy.Patient && newer == 0:
		return job.Verdict{Kind: job.Again}
	case policy.Queues:
		return job.Queued()
	default:
		return skipped
	}
}

// heldElsewhere is the verdict on a tick behind one that another replica runs, or ran when
// the store last said so. A lease that was seen earlier may be over by now.
func (t *ticket) heldElsewhere(now time.Time) job.Verdict {
	if t.holder == nil {
		return t.unheard
	}
	until := t.holder.Until
	if !until.After(now) {
		until = time.Time{}
	}
	return job.HeldElsewhere(t.holder.Holder, t.Tick.At, until)
}

// reopenWindows extends the windows of ticks whose policy let them wait behind a run on
// another replica.
func (l *lane) reopenWindows(j *jobState, until time.Time) {
	if !j.Traits().Patient {
		return
	}
	for i := range l.queue {
		if l.queue[i].Trigger != ledger.ByCatchUp && l.queue[i].Until.Before(until) {
			l.queue[i].Until = until
		}
	}
}
