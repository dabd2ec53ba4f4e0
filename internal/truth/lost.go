package truth

import "slices"

// lostClaim reports whether the store may have lost the claim of a run, and so all that it
// knew of the run.
func (c *checker) lostClaim(t Tick, token uint64) bool {
	return slices.ContainsFunc(c.Lives, func(l Life) bool {
		return slices.ContainsFunc(l.about(t, Won), func(s Report) bool { return s.Token == token && c.lost(l, s) })
	})
}

// tookAlong reports whether the replica ended with what it knew of the tick: the store took
// none of its records since it decided on the tick. It decides on none while it waits to repeat
// an earlier one; then since the tick's window closed.
func (l Life) tookAlong(t Tick, window Span) bool {
	since := window.To
	if decided := l.about(t, NoRun); len(decided) > 0 {
		since = decided[0].At
	}
	return !l.Until.IsZero() && slices.ContainsFunc(l.Reports, func(s Report) bool {
		return s.What == Unstored && !s.At.Before(since)
	})
}

// lost reports whether the commit before a report may be among those that were lost. A
// replica logs it at once, unless it is frozen.
func (c *checker) lost(l Life, s Report) bool {
	from := s.At.Add(-noticed)
	for _, f := range l.Frozen {
		if !f.To.Before(from) && f.From.Before(s.At) {
			from = f.From.Add(-noticed)
			break
		}
	}
	return slices.ContainsFunc(c.Lost, func(span Span) bool { return !span.To.Before(from) && !span.From.After(s.At) })
}
