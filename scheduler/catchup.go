package scheduler

import "time"

// maxOverslept is how many ticks of a job are recorded one by one when the
// replica finds that it slept through them.
const maxOverslept = 100

// whyOverslept is the reason of ticks that nobody was awake to claim here.
const whyOverslept = "this replica was asleep, stopped or too busy until the tick's window had closed"

// An oversleep is what a replica finds when it looks at its clock late.
type oversleep struct {
	missed []time.Time // windows closed, oldest first
	// From first to before, ticks were left out of missed; zero if none were.
	first, before time.Time
	open          tick // the tick that can still be claimed; zero if none
	next          time.Time
}

// sleptThrough says what became of the ticks from due on, the job's next one
// when it fell asleep. Policy: none is caught up whose window has closed.
func sleptThrough(s Schedule, due, now time.Time, window time.Duration) oversleep {
	var o oversleep
	at := due
	for !at.IsZero() && !at.After(now) {
		next := s.Next(at)
		end := windowEnd(at, next, window)
		switch {
		case end.After(now):
			o.open = tick{at: at, until: end}
		case len(o.missed) < maxOverslept:
			o.missed = append(o.missed, at)
		case o.first.IsZero():
			// Too many: go on where a window may still be open.
			o.first = at
			if skip := s.Next(now.Add(-window)); skip.After(at) {
				next = skip
			}
		}
		at = next
	}
	o.next = at
	if !o.first.IsZero() {
		o.before = o.next
		if !o.open.at.IsZero() {
			o.before = o.open.at
		}
	}
	return o
}

// catchUp moves the job on to its first tick after now and returns the one that
// is open now, if any.
func (e *engine) catchUp(j *job, now time.Time) tick {
	o := sleptThrough(j.Schedule, j.next, now, e.cfg.Window)
	for _, at := range o.missed {
		e.decided(missed(j.Name, at, whyOverslept))
	}
	if !o.first.IsZero() {
		e.cfg.Observer.Overslept(j.Name, o.first, o.before)
	}
	e.advance(j, o.next)
	return o.open
}
