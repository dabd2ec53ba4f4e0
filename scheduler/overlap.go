package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
)

// The overlap policy is skip: a tick waits within its window for the lease of
// an earlier run to end, and is then skipped.

// overlapSkip says what becomes of a tick whose window closes while somebody
// holds the job's lock.
func overlapSkip(err error, t tick) verdict {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if !ok {
		return verdict{kind: settled, outcome: Skipped, reason: "overlap: another run still holds the lease"}
	}
	if taken.HolderTick.Equal(t.at) {
		return missedFor(fmt.Sprintf("undecided: %s took the lock for this tick but never said that it runs it", who(taken.Holder)))
	}
	return overlapping(taken.Holder, taken.HolderTick, taken.Until)
}

// overlapping is the verdict on a tick that was kept out by an earlier one. It
// reads the same whether the holder lives or has died.
func overlapping(holder string, at, until time.Time) verdict {
	reason := fmt.Sprintf("overlap: %s still holds the lease", who(holder))
	if !at.IsZero() {
		reason += " of tick " + stamp(at)
	}
	if !until.IsZero() {
		reason += " until " + stamp(until)
	}
	return verdict{kind: settled, outcome: Skipped, reason: reason}
}

// inTheWay is the run that keeps an attempt for the job from starting another
// on this replica, nil if none does: one run at a time.
func (j *job) inTheWay() *attempt {
	if len(j.running) == 0 {
		return nil
	}
	return j.running[0]
}

// outwait waits within the window for this replica's own earlier runs to end.
func (a *attempt) outwait(ctx context.Context) verdict {
	for {
		run, ok := a.ask()
		if run == nil || !ok {
			return verdict{kind: again}
		}
		if v := a.waitFor(ctx, run); v.kind != again {
			return v
		}
	}
}

// waitFor waits within the window for a run to end.
func (a *attempt) waitFor(ctx context.Context, run *attempt) verdict {
	timer := time.NewTimer(a.left())
	defer timer.Stop()
	select {
	case <-run.ended:
		return verdict{kind: again}
	case <-timer.C:
		return stillRunning(run)
	case <-ctx.Done():
		return missedFor(whyDrained)
	}
}

// ask asks the loop which run is in the way. It returns false if the loop has
// ended.
func (a *attempt) ask() (*attempt, bool) {
	if !a.report(progress{attempt: a, phase: asking}) {
		return nil, false
	}
	return <-a.behind, true
}

// stillRunning is the verdict on a tick that was kept out by this replica's own
// run of an earlier one, whose lease may have ended before its function.
func stillRunning(run *attempt) verdict {
	until := run.lease.Deadline()
	if !locking.Expired(time.Now(), until) {
		return overlapping(run.cfg.Replica, run.tick.at, until)
	}
	reason := fmt.Sprintf("overlap: %s still runs tick %s, beyond the end of its lease", run.cfg.Replica, stamp(run.tick.at))
	return verdict{kind: settled, outcome: Skipped, reason: reason}
}

func who(holder string) string {
	if holder == "" {
		return "another replica"
	}
	return holder
}

// stamp writes an instant as the command line does, to the millisecond.
func stamp(t time.Time) string {
	return t.Round(0).UTC().Format("2006-01-02T15:04:05.999Z")
}
