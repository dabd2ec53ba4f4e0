package job

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

// CatchesUp reports whether ticks of the job are caught up.
func (j *Job) CatchesUp() bool {
	return j.CatchUp.Mode == CatchUpLast || j.CatchUp.Mode == CatchUpAll
}

// latest is the end of a tick's catch-up; zero if the job has none.
func (j *Job) latest(at time.Time) time.Time {
	if !j.CatchesUp() {
		return time.Time{}
	}
	return at.Add(j.CatchUp.Window)
}

// NotCaughtUp is the verdict on a tick that the policy does not catch up; closing says why
// it was missed.
func (j *Job) NotCaughtUp(why ledger.Variant, closing Verdict) Verdict {
	d := ledger.Details{With: &closing.Reason}
	switch why {
	case ledger.VariantMax:
		d.Most = j.CatchUp.Max
	case ledger.VariantWindow:
		d.Text = j.CatchUp.Window.String()
	}
	return Because(ledger.Missed, ledger.Reason{Code: ledger.CodeCatchUp, Variant: why, Details: &d})
}

// WhyNotCaughtUp says why a late tick is not caught up; zero if it is. newer ticks wait
// behind it, and late of them are late, too.
func (j *Job) WhyNotCaughtUp(t Tick, now time.Time, newer, late int) ledger.Reason {
	closing := t.Missed(ledger.CodeBehind)
	switch {
	case t.Trigger == ledger.ByRerun && t.Latest.After(now):
		return ledger.Reason{}
	case t.Latest.IsZero() || !j.CatchesUp():
		return closing.Reason
	case !t.Latest.After(now):
		return j.NotCaughtUp(ledger.VariantWindow, closing).Reason
	case j.CatchUp.Mode == CatchUpLast && newer > 0:
		return j.NotCaughtUp(ledger.VariantLast, closing).Reason
	case late >= j.CatchUp.Max:
		return j.NotCaughtUp(ledger.VariantMax, closing).Reason
	default:
		return ledger.Reason{}
	}
}

// CatchUpPause is how long a tick that is caught up waits before its first try. It differs
// by job and tick, is the same on all replicas, and is short enough to overtake the job's
// schedule.
func (j *Job) CatchUpPause(t Tick) time.Duration {
	limit := longestCatchUpPause
	if !t.Next.IsZero() {
		limit = min(limit, t.Next.Sub(t.At)/4)
	}
	return Jitter(j.StoredAs()+" catch-up", t.At, limit)
}
