package truth

import "slices"

// lostClaim reports whether the store may have lost the claim of a run, and so all that it
// knew of the run.
func (c *checker) lostClaim(t Tick, token uint64) bool {
	return slices.ContainsFunc(c.Lives, func(l Life) bool {
		return slices.ContainsFunc(l.about(t, Won), func(s Report) bool { return s.Token == token && c.lost(l, s) })
	})
}

// tookAlong reports whether the replica ended with a decision on the tick that it could not
// record: the store took none of its records since.
func (l Life) tookAlong(t Tick) bool {
	decided := l.about(t, NoRun)
	return !l.Until.IsZero() && len(decided) > 0 && slices.ContainsFunc(l.Reports, func(s Report) bool {
		return s.What == Unstored && !s.At.Before(decided[0].At)
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
