package truth

import "slices"

// lostClaim reports whether the store may have lost the claim of a run, and so all that it
// knew of the run.
func (c *checker) lostClaim(t Tick, token uint64) bool {
	return slices.ContainsFunc(c.Lives, func(l Life) bool {
		return slices.ContainsFunc(l.about(t, Won), func(s Report) bool { return s.Token == token && c.lost(l, s) })
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
