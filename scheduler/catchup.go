package scheduler

import (
	"cmp"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// Ticks that nobody could run are caught up, if the job has it, in the order in
// which they came and one at a time. A tick that could not be claimed within its
// window, for want of a quorum, say, stays the first of its lane, and is tried
// until CatchUp.Window after its nominal time. The ticks after it wait: were a
// later one claimed, it never could be.

// Pauses between ticks of a job that are caught up.
const longestCatchUpPause = 2 * time.Second

// withDefaults returns a copy in which every zero value has its default.
func (c CatchUp) withDefaults() CatchUp {
	c.Mode = cmp.Or(c.Mode, CatchUpNone)
	c.Window = cmp.Or(c.Window, DefaultCatchUpWindow)
	c.Max = cmp.Or(c.Max, DefaultCatchUpMax)
	return c
}

// does tells whether any ticks are caught up.
func (c CatchUp) does() bool { return c.Mode == CatchUpLast || c.Mode == CatchUpAll }

// latest is when a tick can no longer be caught up; zero if it cannot be at all.
func (c CatchUp) latest(at time.Time) time.Time {
	if !c.does() {
		return time.Time{}
	}
	return at.Add(c.withDefaults().Window)
}

// not is the verdict on a tick that is not caught up because of the policy, and was
// missed in the first place for what closing says.
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

// refuses says why a tick that is late is not caught up, zero if it is. So many
// newer ones wait, and so many of these are late, too.
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

// catchUpPause is how long a tick that is caught up waits before its first try:
// different for every job and tick, the same on all replicas, and so short that
// the job's schedule is overtaken.
func (j *Job) catchUpPause(t tick) time.Duration {
	limit := longestCatchUpPause
	if !t.next.IsZero() {
		limit = min(limit, t.next.Sub(t.at)/4)
	}
	return Jitter(j.key()+" catch-up", t.at, limit)
}

// goOn keeps the window open of a tick that nobody could run, and would be
// missed for closing, if it may be caught up.
func (a *attempt) goOn(closing verdict) bool {
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
