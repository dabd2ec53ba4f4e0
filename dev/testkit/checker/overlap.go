package checker

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// overlapped reports whether a run of an earlier tick of the job, or its lease, lasted into
// the span. A killed replica may have left a lease behind.
func (c *checker) overlapped(row Row, window Span) bool {
	earlier := func(t Tick) bool { return t.Job == row.Job && t.At.Before(row.At) }
	for _, l := range c.Incarnations {
		if l.Killed && !l.Until.After(window.To) && !c.left(l).Before(window.From) {
			return true // it may have died with a claim, before it could log that
		}
		if l.Foreign && !l.Until.Before(window.From) {
			return true
		}
		for _, s := range l.Reports {
			if earlier(s.Tick) && (c.lasted(l, s, window) || c.froze(l, s, window) || c.uncounted(s, window)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(c.Thawed, func(at time.Time) bool { return !at.After(window.To) && !at.Add(c.TTL).Before(window.From) })
}

// lasted reports whether s begins a run whose lease lasted into the span.
func (c *checker) lasted(l Incarnation, s Report, window Span) bool {
	if s.What != Won || s.At.After(window.To) {
		return false
	}
	over := c.over(l, s)
	return over.IsZero() || !over.Before(window.From)
}

// over is when the lease of a run ended at the latest; zero if it may last.
func (c *checker) over(l Incarnation, won Report) time.Time {
	for _, s := range l.about(won.Tick, Ended) {
		switch {
		case s.Token != won.Token:
		case len(l.about(won.Tick, Unsure)) > 0, c.lost(l, s):
			return s.At.Add(c.TTL) // the nodes may not know of the end
		default:
			return s.At
		}
	}
	for _, s := range l.about(won.Tick, NoRun) {
		if !s.At.Before(won.At) {
			return s.At // given back
		}
	}
	if l.Until.IsZero() {
		return time.Time{}
	}
	return c.left(l)
}

// looksEvery is how often a replica looks at the leases of a store without a clock, and about
// how long replicas take to begin that are started together.
const looksEvery = 5 * time.Second

// left is when the lease that a process leaves behind has ended at the latest.
func (c *checker) left(l Incarnation) time.Time {
	if !c.Clockless {
		return l.Until.Add(c.TTL)
	}
	seen := l.Until // or when the first one begins after that: perhaps all were gone
	for _, o := range c.Incarnations {
		if o.From.After(l.Until) && (seen.Equal(l.Until) || o.From.Before(seen)) {
			seen = o.From
		}
	}
	return seen.Add(looksEvery + c.TTL)
}

// froze reports whether s gives up a tick that the replica was claiming when it froze. The
// nodes may have granted the claim meanwhile, and the lease lasted into the span: no other
// replica can know that nobody runs the tick.
func (c *checker) froze(l Incarnation, s Report, window Span) bool {
	if s.What != NoRun || !slices.Contains(grantedUnheard(), s.Code) || s.At.Before(window.From) {
		return false
	}
	return slices.ContainsFunc(l.Frozen, func(f Span) bool {
		return !f.From.Before(s.Tick.At) && f.From.Before(s.At) && !f.From.Add(c.TTL).Before(window.From)
	})
}

// uncounted reports whether s ends the tries for a tick that lasted into the span. One of them
// may have left a lease that does not count.
func (c *checker) uncounted(s Report, window Span) bool {
	switch {
	case !c.Uncopied:
		return false
	case s.What == Won:
		return s.At.After(window.To)
	}
	return s.What == NoRun && slices.Contains(grantedUnheard(), s.Code) && s.At.Add(c.TTL).After(window.From)
}

// grantedUnheard are the codes of a tick whose claim may have been granted, but not in time
// for its replica.
func grantedUnheard() []string {
	return []string{string(ledger.CodeTooSlow), string(ledger.CodeTooLate), string(ledger.CodeNoQuorum)}
}
