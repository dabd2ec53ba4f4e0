package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/catchup"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// maxOverslept is how many ticks of a job are recorded one by one after the replica has
// overslept them and does not ask the ledger about them.
const maxOverslept = 100

// An oversleep is the result of a late look at the clock.
type oversleep struct {
	missed []job.Tick // windows closed, oldest first
	// Ticks from first to before are left out of missed, except the last one, the first of
	// missed, which represents all of them; zero if none were.
	first, before time.Time
	open          job.Tick // the tick that can still be claimed; zero if none
	next          job.Tick
}

// sleptThrough sorts the job's ticks from due on, its next one before the sleep.
func sleptThrough(j *job.Job, due job.Tick, now time.Time, window time.Duration) oversleep {
	var o oversleep
	if due.IsZero() || due.Start.After(now) {
		o.next = due
		return o
	}
	if next := j.Scheduled(due.Next, window); due.Until.After(now) && (next.IsZero() || next.Start.After(now)) {
		o.open, o.next = due, next // the usual case
		return o
	}
	// The last may be open, and the one after it may have come but not started.
	ticks, whole := schedule.LastTicks(j.Schedule, due.At.Add(-1), now.Add(1), maxOverslept+3, func(time.Time) bool { return true })
	o.next = j.Scheduled(j.Schedule.Next(now), window)
	for _, at := range ticks {
		switch t := j.Scheduled(at, window); {
		case t.Start.After(now):
			o.next = t
		case t.Until.After(now):
			o.open = t
		default:
			o.missed = append(o.missed, t)
		}
	}
	if over := len(o.missed) - maxOverslept - 1; over > 0 || !whole {
		o.missed = o.missed[max(0, over):]
		o.first, o.before = due.At, o.missed[1].At
	}
	return o
}

// oversleep moves the job to its first tick after now, decides those before, and returns
// the one that is open now, if any.
func (e *engine) oversleep(j *jobState, now time.Time) job.Tick {
	due := j.tick(e.cfg.Window)
	o := sleptThrough(j.Job, due, now, e.cfg.Window)
	e.jobs.reschedule(j, dueOf(o.next))
	why := ledger.CodeAsleep
	if !due.Start.After(e.actsKnownAt) {
		why = ledger.CodeStarting
	}
	if len(o.missed) > 0 && j.CatchesUp() && job.Fits(e.cfg.Labels, j.Labels) {
		e.pasts.scan(j, catchup.Span{Job: j.Job, From: due.At, Before: o.until(now), Why: why})
		return o.open
	}
	for i, t := range o.missed {
		j.lane("").gaveUp(j)
		if i == 0 && !o.first.IsZero() {
			e.rec.Decided(j.Job, t, job.Because(ledger.Missed, roster.AlsoSince(why, o.first)))
		} else {
			e.rec.Decided(j.Job, t, job.MissedFor(why))
		}
	}
	if !o.first.IsZero() {
		e.cfg.Observer(Event{Kind: EventOverslept, Entry: ledger.Entry{Job: j.Name}, Since: o.first, Before: o.before})
	}
	return o.open
}

// until is the end of the sleep.
func (o oversleep) until(now time.Time) time.Time {
	switch {
	case !o.open.IsZero():
		return o.open.At
	case !o.next.IsZero():
		return o.next.At
	default:
		return now
	}
}
