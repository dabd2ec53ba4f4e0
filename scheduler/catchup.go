package scheduler

import (
	"cmp"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// Ticks that no replica could run are caught up in their order, one at a time, if the job
// wants it. A tick that could not be claimed within its window, for example without a
// quorum, stays the first of its lane, and is tried until CatchUp.Window after its nominal
// time. Later ticks wait: once a later tick is claimed, an earlier one never can be.

// longestCatchUpPause bounds the pause between ticks that are caught up.
const longestCatchUpPause = 2 * time.Second

// withDefaults returns a copy in which every zero value has its default.
func (c CatchUp) withDefaults() CatchUp {
	c.Mode = cmp.Or(c.Mode, CatchUpNone)
	c.Window = cmp.Or(c.Window, DefaultCatchUpWindow)
	c.Max = cmp.Or(c.Max, DefaultCatchUpMax)
	return c
}

// does reports whether ticks are caught up.
func (c CatchUp) does() bool { return c.Mode == CatchUpLast || c.Mode == CatchUpAll }

// latest is the end of a tick's catch-up; zero if the job has none.
func (c CatchUp) latest(at time.Time) time.Time {
	if !c.does() {
		return time.Time{}
	}
	return at.Add(c.withDefaults().Window)
}

// not is the verdict on a tick that the policy does not catch up; closing says why it was
// missed.
func (c CatchUp) not(why ledger.Variant, closing verdict) verdict {
	c = c.withDefaults()
	d := ledger.Details{With: &closing.reason}
	switch why {
	case ledger.VariantMax:
		d.Most = c.Max
	case ledger.VariantWindow:
		d.Text = c.Window.String()
	}
	return because(ledger.Missed, ledger.Reason{Code: ledger.CodeCatchUp, Variant: why, Details: &d})
}

// refuses says why a late tick is not caught up; zero if it is. newer ticks wait behind it,
// and late of them are late, too.
func (c CatchUp) refuses(t tick, now time.Time, newer, late int) ledger.Reason {
	c = c.withDefaults()
	closing := t.missed(ledger.CodeBehind)
	switch {
	case t.trigger == ledger.ByRerun && t.latest.After(now):
		return ledger.Reason{}
	case t.latest.IsZero() || !c.does():
		return closing.reason
	case !t.latest.After(now):
		return c.not(ledger.VariantWindow, closing).reason
	case c.Mode == CatchUpLast && newer > 0:
		return c.not(ledger.VariantLast, closing).reason
	case late >= c.Max:
		return c.not(ledger.VariantMax, closing).reason
	default:
		return ledger.Reason{}
	}
}

// catchUpPause is how long a tick that is caught up waits before its first try. It differs
// by job and tick, is the same on all replicas, and is short enough to overtake the job's
// schedule.
func (j *Job) catchUpPause(t tick) time.Duration {
	limit := longestCatchUpPause
	if !t.next.IsZero() {
		limit = min(limit, t.next.Sub(t.at)/4)
	}
	return Jitter(j.key()+" catch-up", t.at, limit)
}

// extendToCatchUp keeps the window of a tick open that would be missed for closing, if it
// may be caught up.
func (a *attempt) extendToCatchUp(closing verdict) bool {
	latest := a.tick.latest
	if a.caughtUp || closing.outcome != ledger.Missed || !latest.After(a.clock.wall()) {
		return false
	}
	if a.job.CatchUp.Mode == CatchUpLast && a.overtaken() {
		return false
	}
	a.caughtUp, a.until = true, latest
	return true
}

// trigger is why the attempt runs its tick.
func (a *attempt) trigger() ledger.Trigger {
	switch {
	case a.rerun():
		return ledger.ByRerun
	case a.caughtUp:
		return ledger.ByCatchUp
	default:
		return a.tick.trigger
	}
}
