package checker

import (
	"slices"
	"time"
)

// lostClaim reports whether the store may have lost the claim of a run, and so all that it
// knew of the run.
func (c *checker) lostClaim(t Tick, token uint64) bool {
	return slices.ContainsFunc(c.Incarnations, func(l Incarnation) bool {
		return slices.ContainsFunc(l.about(t, Won), func(s Report) bool { return s.Token == token && c.lost(l, s) })
	})
}

// caughtUp is how long a store must answer until a replica has recorded what it decided while
// the store was silent: on a busy machine it answers some calls, and others late.
const caughtUp = 15 * time.Second

// tookAlong reports whether the replica ended with what it knew of the tick: the store was
// silent after it decided on the tick, and never answered for long enough before the end. It
// decides on none while it waits to repeat an earlier one; then after the tick's window closed.
func (l Incarnation) tookAlong(t Tick, window Span) bool {
	since := window.To
	if decided := l.about(t, NoRun); len(decided) > 0 {
		since = decided[0].At
	}
	silent, answered := false, time.Time{} // from when the store has answered
	for _, s := range l.Reports {
		switch {
		case l.Until.IsZero() || s.At.Before(since):
		case s.What == Unstored:
			if !answered.IsZero() && s.At.Sub(answered) > caughtUp {
				return false
			}
			silent, answered = true, time.Time{}
		case s.What == Won && answered.IsZero():
			answered = s.At
		}
	}
	return silent && (answered.IsZero() || l.Until.Sub(answered) <= caughtUp)
}

// lost reports whether the commit before a report may be among those that were lost. A
// replica logs it at once, unless it is frozen.
func (c *checker) lost(l Incarnation, s Report) bool {
	from := s.At.Add(-noticed)
	for _, f := range l.Frozen {
		if !f.To.Before(from) && f.From.Before(s.At) {
			from = f.From.Add(-noticed)
			break
		}
	}
	return slices.ContainsFunc(c.Lost, func(span Span) bool { return !span.To.Before(from) && !span.From.After(s.At) })
}
