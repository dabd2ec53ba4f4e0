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

// WithDefaults returns a copy in which every zero value has its default.
func (c CatchUp) WithDefaults() CatchUp {
	c.Mode = cmp.Or(c.Mode, CatchUpNone)
	c.Window = cmp.Or(c.Window, DefaultCatchUpWindow)
	c.Max = cmp.Or(c.Max, DefaultCatchUpMax)
	return c
}

// Does reports whether ticks are caught up.
func (c CatchUp) Does() bool { return c.Mode == CatchUpLast || c.Mode == CatchUpAll }

// latest is the end of a tick's catch-up; zero if the job has none.
func (c CatchUp) latest(at time.Time) time.Time {
	if !c.Does() {
		return time.Time{}
	}
	return at.Add(c.WithDefaults().Window)
}

// Not is the verdict on a tick that the policy does not catch up; closing says why it was
// missed.
func (c CatchUp) Not(why ledger.Variant, closing Verdict) Verdict {
	c = c.WithDefaults()
	d := ledger.Details{With: &closing.Reason}
	switch why {
	case ledger.VariantMax:
		d.Most = c.Max
	case ledger.VariantWindow:
		d.Text = c.Window.String()
	}
	return Because(ledger.Missed, ledger.Reason{Code: ledger.CodeCatchUp, Variant: why, Details: &d})
}

// Refuses says why a late tick is not caught up; zero if it is. newer ticks wait behind it,
// and late of them are late, too.
func (c CatchUp) Refuses(t Tick, now time.Time, newer, late int) ledger.Reason {
	c = c.WithDefaults()
	closing := t.Missed(ledger.CodeBehind)
	switch {
	case t.Trigger == ledger.ByRerun && t.Latest.After(now):
		return ledger.Reason{}
	case t.Latest.IsZero() || !c.Does():
		return closing.Reason
	case !t.Latest.After(now):
		return c.Not(ledger.VariantWindow, closing).Reason
	case c.Mode == CatchUpLast && newer > 0:
		return c.Not(ledger.VariantLast, closing).Reason
	case late >= c.Max:
		return c.Not(ledger.VariantMax, closing).Reason
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
