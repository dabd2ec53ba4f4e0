package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A tick is an instant of a stream of a job that one replica may run: of the
// schedule, or of what people ask for. The zero tick is none.
type tick struct {
	stream  string    // empty: the schedule
	at      time.Time // its place in the stream; in the schedule its nominal time
	nominal time.Time // what the run is told
	start   time.Time // it may be claimed from here
	until   time.Time // and not after this, in its time
	latest  time.Time // nor after this when it is caught up; zero: it is not
	trigger ledger.Trigger
	why     *ledger.Reason // it did not run in its time; nil: not known
	act     *acts.Act      // who asked for it, and with which params; nil: the schedule

	next time.Time // the nominal time of the next tick of the schedule; zero: none
}

// entry begins the ledger's line on the tick.
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

// parent is the id of the run that asked for the tick, if one did.
func (t tick) parent() string {
	if t.act == nil {
		return ""
	}
	return t.act.Parent
}

// missed is the verdict on a tick that did not run in its time; otherwise says why, if
// that is not known.
func (t tick) missed(otherwise ledger.Code) verdict {
	if t.why == nil {
		return missedFor(otherwise)
	}
	return because(ledger.Missed, *t.why)
}

func (t tick) isZero() bool { return t.at.IsZero() }

// A due is what is kept of a job's next tick until it comes: of many jobs, nothing
// else.
type due struct {
	at    time.Time
	delay time.Duration // of its start
	gap   time.Duration // before the tick after it; 0: there is none
}

// due keeps what is needed of t. Durations overflow after 292 years; no schedule reaches that.
func (t tick) due() due {
	d := due{at: t.at, delay: t.start.Sub(t.at)}
	if !t.next.IsZero() {
		d.gap = t.next.Sub(t.at)
	}
	return d
}

func (d due) isZero() bool { return d.at.IsZero() }

// start is from when the tick may be claimed.
func (d due) start() time.Time { return d.at.Add(d.delay) }

// next is the tick after it, zero if there is none.
func (d due) next() time.Time {
	if d.gap == 0 {
		return time.Time{}
	}
	return d.at.Add(d.gap)
}

// tick is all of the job's next tick.
func (j *job) tick(window time.Duration) tick {
	if j.next.isZero() {
		return tick{}
	}
	return j.tickBefore(j.next.next(), j.next.at, window)
}

// late tells whether the tick's own window has closed.
func (t tick) late(now time.Time) bool { return !now.Before(t.until) }

// scheduled is the tick of the job's schedule at the given instant, with its
// window: from its start until the next tick starts, at the latest until window
// later.
func (j *Job) scheduled(at time.Time, window time.Duration) tick {
	if at.IsZero() {
		return tick{}
	}
	return j.tickBefore(j.Schedule.Next(at), at, window)
}

// tickBefore is the tick at the given instant, the one after which is known.
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

// startOf is a tick's nominal time, delayed by the job's jitter. However large
// that is, a tick starts before the next one comes.
func (j *Job) startOf(at, next time.Time) time.Time {
	limit := j.Jitter
	if !next.IsZero() {
		limit = min(limit, next.Sub(at))
	}
	return at.Add(Jitter(j.key(), at, limit))
}

// firstAfter is the job's first tick that starts after now. With jitter that
// may be one whose nominal time has passed.
func (j *Job) firstAfter(now time.Time, window time.Duration) tick {
	t := j.scheduled(j.Schedule.Next(now.Add(-max(j.Jitter, 0))), window)
	for !t.isZero() && !t.start.After(now) {
		t = j.scheduled(t.next, window)
	}
	return t
}
