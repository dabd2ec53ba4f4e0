package job

import (
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Tick is an instant in a stream of a job that one replica may run. A stream is the
// schedule, or one kind of requests. The zero tick is none.
type Tick struct {
	Stream  string    // empty: the schedule
	At      time.Time // its place in the stream; for the schedule its nominal time
	Nominal time.Time // what the run is told
	Start   time.Time // it may be claimed from here
	Until   time.Time // the end of its window
	Latest  time.Time // the end of its catch-up; zero: none
	Trigger ledger.Trigger
	Why     *ledger.Reason // why it did not run in its window; nil: unknown
	Act     *acts.Act      // the request for it; nil: the schedule

	Next time.Time // the nominal time of the next tick of the schedule; zero: none
}

// Entry begins the ledger's entry of the tick.
func (t Tick) Entry(j *Job, replica string) ledger.Entry {
	e := ledger.Entry{
		Job: j.StoredAs(), Tick: t.Nominal, Stream: t.Stream, Trigger: t.Trigger, Parent: t.Parent(), Replica: replica,
		Hash: j.Hash,
	}
	if t.Stream != "" {
		e.Order = t.At
	}
	return e
}

// Parent is the id of the run that triggered the tick, if any.
func (t Tick) Parent() string {
	if t.Act == nil {
		return ""
	}
	return t.Act.Parent
}

// Missed is the verdict on a tick that did not run in its window, with the code otherwise
// if the reason is unknown.
func (t Tick) Missed(otherwise ledger.Code) Verdict {
	if t.Why == nil {
		return MissedFor(otherwise)
	}
	return Because(ledger.Missed, *t.Why)
}

// IsZero reports whether there is no tick.
func (t Tick) IsZero() bool { return t.At.IsZero() }

// Late reports whether the tick's own window has closed.
func (t Tick) Late(now time.Time) bool { return !now.Before(t.Until) }

// Scheduled is the tick of the job's schedule at the given instant. Its window is from its
// start until the next tick starts, at most window long.
func (j *Job) Scheduled(at time.Time, window time.Duration) Tick {
	if at.IsZero() {
		return Tick{}
	}
	return j.TickBefore(j.Schedule.Next(at), at, window)
}

// TickBefore is the tick at the given instant, before the known next one.
func (j *Job) TickBefore(next, at time.Time, window time.Duration) Tick {
	t := Tick{At: at, Nominal: at, Trigger: ledger.BySchedule, Latest: j.latest(at), Next: next}
	t.Start = j.startOf(at, t.Next)
	t.Until = t.Start.Add(window)
	if end := j.startOfNext(t); !end.IsZero() && end.Before(t.Until) {
		t.Until = end
	}
	return t
}

// startOfNext is when the tick after t starts, zero if there is none.
func (j *Job) startOfNext(t Tick) time.Time {
	if t.Next.IsZero() || j.Jitter <= 0 {
		return t.Next
	}
	return j.startOf(t.Next, j.Schedule.Next(t.Next))
}

// startOf is a tick's nominal time, delayed by the job's jitter. A tick always starts
// before the next one comes.
func (d *Definition) startOf(at, next time.Time) time.Time {
	limit := d.Jitter
	if !next.IsZero() {
		limit = min(limit, next.Sub(at))
	}
	return at.Add(Jitter(d.storedAs(), at, limit))
}

// FirstAfter is the job's first tick that starts after now. With jitter its nominal time
// may be before now.
func (j *Job) FirstAfter(now time.Time, window time.Duration) Tick {
	t := j.Scheduled(j.Schedule.Next(now.Add(-max(j.Jitter, 0))), window)
	for !t.IsZero() && !t.Start.After(now) {
		t = j.Scheduled(t.Next, window)
	}
	return t
}
