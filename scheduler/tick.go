package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A tick is an instant in a stream of a job that one replica may run. A stream is the
// schedule, or one kind of requests. The zero tick is none.
type tick struct {
	stream  string    // empty: the schedule
	at      time.Time // its place in the stream; for the schedule its nominal time
	nominal time.Time // what the run is told
	start   time.Time // it may be claimed from here
	until   time.Time // the end of its window
	latest  time.Time // the end of its catch-up; zero: none
	trigger ledger.Trigger
	why     *ledger.Reason // why it did not run in its window; nil: unknown
	act     *acts.Act      // the request for it; nil: the schedule

	next time.Time // the nominal time of the next tick of the schedule; zero: none
}

// entry begins the ledger's entry of the tick.
func (t tick) entry(j *Job, replica string) ledger.Entry {
	e := ledger.Entry{
		Job: j.key(), Tick: t.nominal, Stream: t.stream, Trigger: t.trigger, Parent: t.parent(), Replica: replica,
		Hash: j.Hash,
	}
	if t.stream != "" {
		e.Order = t.at
	}
	return e
}

// parent is the id of the run that triggered the tick, if any.
func (t tick) parent() string {
	if t.act == nil {
		return ""
	}
	return t.act.Parent
}

// missed is the verdict on a tick that did not run in its window, with the code otherwise
// if the reason is unknown.
func (t tick) missed(otherwise ledger.Code) verdict {
	if t.why == nil {
		return missedFor(otherwise)
	}
	return because(ledger.Missed, *t.why)
}

func (t tick) isZero() bool { return t.at.IsZero() }

// A due is the stored part of a job's next tick. Most jobs have no other state.
type due struct {
	at    time.Time
	delay time.Duration // of its start
	gap   time.Duration // before the tick after it; 0: there is none
}

// due is the stored part of t. Durations overflow after 292 years; no schedule reaches
// that.
func (t tick) due() due {
	d := due{at: t.at, delay: t.start.Sub(t.at)}
	if !t.next.IsZero() {
		d.gap = t.next.Sub(t.at)
	}
	return d
}

func (d due) isZero() bool { return d.at.IsZero() }

// start is when the tick may first be claimed.
func (d due) start() time.Time { return d.at.Add(d.delay) }

// next is the tick after it, zero if there is none.
func (d due) next() time.Time {
	if d.gap == 0 {
		return time.Time{}
	}
	return d.at.Add(d.gap)
}

// tick is the job's next tick.
func (j *job) tick(window time.Duration) tick {
	if j.next.isZero() {
		return tick{}
	}
	return j.tickBefore(j.next.next(), j.next.at, window)
}

// late reports whether the tick's own window has closed.
func (t tick) late(now time.Time) bool { return !now.Before(t.until) }

// scheduled is the tick of the job's schedule at the given instant. Its window is from its
// start until the next tick starts, at most window long.
func (j *Job) scheduled(at time.Time, window time.Duration) tick {
	if at.IsZero() {
		return tick{}
	}
	return j.tickBefore(j.Schedule.Next(at), at, window)
}

// tickBefore is the tick at the given instant, before the known next one.
func (j *Job) tickBefore(next, at time.Time, window time.Duration) tick {
	t := tick{at: at, nominal: at, trigger: ledger.BySchedule, latest: j.CatchUp.latest(at), next: next}
	t.start = j.startOf(at, t.next)
	t.until = t.start.Add(window)
	if end := j.startOfNext(t); !end.IsZero() && end.Before(t.until) {
		t.until = end
	}
	return t
}

// startOfNext is when the tick after t starts, zero if there is none.
func (j *Job) startOfNext(t tick) time.Time {
	if t.next.IsZero() || j.Jitter <= 0 {
		return t.next
	}
	return j.startOf(t.next, j.Schedule.Next(t.next))
}

// startOf is a tick's nominal time, delayed by the job's jitter. A tick always starts
// before the next one comes.
func (j *Job) startOf(at, next time.Time) time.Time {
	limit := j.Jitter
	if !next.IsZero() {
		limit = min(limit, next.Sub(at))
	}
	return at.Add(Jitter(j.key(), at, limit))
}

// firstAfter is the job's first tick that starts after now. With jitter its nominal time
// may be before now.
func (j *Job) firstAfter(now time.Time, window time.Duration) tick {
	t := j.scheduled(j.Schedule.Next(now.Add(-max(j.Jitter, 0))), window)
	for !t.isZero() && !t.start.After(now) {
		t = j.scheduled(t.next, window)
	}
	return t
}
