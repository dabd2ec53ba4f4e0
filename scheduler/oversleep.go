package scheduler

import "time"

// maxOverslept is how many ticks of a job are recorded one by one when the
// replica finds that it slept through them.
const maxOverslept = 100

// whyOverslept is the reason of ticks that nobody was awake to claim here.
const whyOverslept = "this replica was asleep, stopped or too busy until the tick's window had closed"

// An oversleep is what a replica finds when it looks at its clock late.
type oversleep struct {
	missed []tick // windows closed, oldest first
	// From first to before, ticks were left out of missed; zero if none were.
	first, before time.Time
	open          tick // the tick that can still be claimed; zero if none
	next          tick
}

// sleptThrough says what became of the job's ticks from due on, its next one
// when it fell asleep.
func sleptThrough(j *Job, due tick, now time.Time, window time.Duration) oversleep {
	var o oversleep
	t := due
	for !t.isZero() && !t.start.After(now) {
		next := t.next
		switch {
		case t.until.After(now):
			o.open = t
		case len(o.missed) < maxOverslept:
			o.missed = append(o.missed, t)
		case o.first.IsZero():
			// Too many: go on where a window may still be open.
			o.first = t.at
			if skip := j.Schedule.Next(now.Add(-window - j.Jitter)); skip.After(t.at) {
				next = skip
			}
		}
		t = j.scheduled(next, window)
	}
	o.next = t
	if !o.first.IsZero() {
		o.before = o.next.at
		if !o.open.isZero() {
			o.before = o.open.at
		}
	}
	return o
}

// oversleep moves the job on to its first tick after now, sees to those before,
// and returns the one that is open now, if any.
func (e *engine) oversleep(j *job, now time.Time) tick {
	o := sleptThrough(j.Job, j.tick(e.cfg.Window), now, e.cfg.Window)
	e.reschedule(j, o.next.due())
	if len(o.missed) > 0 && j.CatchUp.does() && fits(e.cfg.Labels, j.Labels) {
		e.hold(j, past{job: j.Job, from: o.missed[0].at, before: o.until(now), why: whyOverslept})
		return o.open
	}
	for _, t := range o.missed {
		j.lane("").gaveUp(j)
		e.decided(j.Job, t, missedFor(whyOverslept))
	}
	if !o.first.IsZero() {
		e.cfg.Observer.Overslept(j.Name, o.first, o.before)
	}
	return o.open
}

// until is the end of what was slept through.
func (o oversleep) until(now time.Time) time.Time {
	switch {
	case !o.open.isZero():
		return o.open.at
	case !o.next.isZero():
		return o.next.at
	default:
		return now
	}
}
