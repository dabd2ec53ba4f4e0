package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/catchup"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Before a job that catches up or reruns claims its first tick after a start, its past is
// scanned: once a later tick is claimed, earlier ones never can be. After a sleep only jobs
// that catch up are scanned first. Others that rerun ask before their next try (queue.go).

// pasts are the spans of ticks that the ledger has to be asked about.
type pasts struct {
	labels  map[string]string // of this replica
	scanner catchup.Scanner
	queued  []*catchup.Scan // not started yet
	halfway bool            // more jobs follow in the same update
	// The ends of the spans that nobody has read yet, by job.
	unread map[*jobState][]time.Time
}

// scan queues scans of a span of the job, if it may run here. The schedule waits for them
// if anything may be caught up or rerun.
func (p *pasts) scan(j *jobState, span catchup.Span) {
	if !job.Fits(p.labels, j.Labels) {
		return
	}
	if p.unread == nil {
		p.unread = map[*jobState][]time.Time{}
	}
	p.unread[j] = append(p.unread[j], span.Before)
	rerun, catchUp := j.OnCrash == jobs.CrashRerun, j.CatchesUp()
	if rerun || catchUp {
		p.scanFirst(j, &catchup.Scan{Span: span})
	}
	if !catchUp {
		p.scanLater(j, span)
	}
}

// scanFirst queues a scan that ticks of the job wait for.
func (p *pasts) scanFirst(j *jobState, s *catchup.Scan) {
	j.queueOf("").scans++
	s.Owner, s.Urgent = j, true
	p.queued = append(p.queued, s)
}

// scanLater queues a scan that only records.
func (p *pasts) scanLater(j *jobState, span catchup.Span) {
	p.queued = append(p.queued, &catchup.Scan{Span: span, Owner: j})
}

// seekRerun asks the ledger for a run that was interrupted, or may be soon, and that this replica
// has not watched: after a pause, or behind a run of its own. Later ticks wait for the answer. While
// the replica runs the job, the ledger's last run is its own, so it asks at the end.
func (p *pasts) seekRerun(j *jobState, now time.Time) {
	ownRun := func(t *ticket) bool { return t.Tick.Stream == "" }
	switch {
	case j.OnCrash != jobs.CrashRerun || !job.Fits(p.labels, j.Labels):
	case slices.ContainsFunc(j.running, ownRun):
		j.queueOf("").unsure = true
	default:
		p.scanFirst(j, &catchup.Scan{Span: catchup.Span{Job: j.Job, Before: now}, OnlyRerun: true})
	}
}

// start starts the queued scans, urgent ones first. Scans of one update form a batch with
// its own scanners, which reads the published versions once.
func (p *pasts) start(ctx context.Context, working *sync.WaitGroup) {
	if len(p.queued) == 0 || p.halfway {
		return
	}
	batch := p.queued
	p.queued = nil
	later := slices.DeleteFunc(slices.Clone(batch), func(s *catchup.Scan) bool { return s.Urgent })
	urgent := slices.DeleteFunc(batch, func(s *catchup.Scan) bool { return !s.Urgent })
	if len(urgent) > 0 {
		working.Go(func() { p.scanner.ScanAll(ctx, urgent) })
	}
	if len(later) > 0 {
		working.Go(func() { p.scanner.ScanLater(ctx, later) })
	}
}

// wasRead removes the spans of the job for which done returns true.
func (p *pasts) wasRead(j *jobState, done func(before time.Time) bool) {
	left := slices.DeleteFunc(p.unread[j], done)
	if len(left) > 0 {
		p.unread[j] = left
		return
	}
	if delete(p.unread, j); len(p.unread) == 0 {
		p.unread = nil // a map never shrinks
	}
}

// known reports whether everything is accounted for that came before this replica served
// the job, or while it slept. Other replicas have accounted for everything before learned.
func (p *pasts) known(j *jobState, learned time.Time) bool {
	if len(p.unread[j]) > 0 {
		p.wasRead(j, func(before time.Time) bool { return !before.After(learned) })
	}
	return len(p.unread[j]) == 0
}

// startScans starts the queued scans. None starts before the replica knows the pauses,
// since found ticks may run at once.
func (e *engine) startScans() {
	if e.commandsKnown {
		e.pasts.start(e.dispatch.contexts.Claims, &e.attempts)
	}
}

// applyScan applies the result of a scan.
func (e *engine) applyScan(s *catchup.Scan) {
	j := s.Owner.(*jobState)
	q := j.queueOf("")
	if s.Urgent {
		q.scans--
	}
	if !e.jobs.serves(j) {
		return
	}
	switch {
	case s.Found.Err != nil:
		e.cfg.Observer(event.Event{Kind: event.Unread, Entry: ledger.Entry{Job: j.Name}, Err: s.Found.Err})
		if s.Urgent && s.Accounts() && presence.Passing(s.Found.Err) {
			e.pasts.scanLater(j, s.Span) // too late to catch up, not to record
			e.startScans()
		}
	case s.Accounts():
		e.pasts.wasRead(j, s.Before.Equal)
	}
	if !s.Found.First.IsZero() {
		e.cfg.Observer(event.Event{Kind: event.Overslept, Entry: ledger.Entry{Job: j.Name}, Since: s.Found.First, Before: s.Found.Before})
	}
	if !s.Found.Rerun.IsZero() {
		q.insert(s.Found.Rerun)
	}
	for _, t := range s.Found.Gone {
		e.rec.Decided(j.Job, t, t.Missed(ledger.CodeUnknown))
	}
	for _, t := range s.Found.Ticks {
		q.overtake(t)
		q.insert(t)
	}
	e.dispatch.proceed(j, q)
}

// maxOverslept is how many ticks of a job are recorded one by one after the replica has
// overslept them and does not ask the ledger about them.
const maxOverslept = 100

// dueTicks are the due ticks of a job, sorted by what becomes of them.
type dueTicks struct {
	missed []job.Tick // windows closed, oldest first
	// Ticks from first to before are left out of missed, except the last one, the first of
	// missed, which represents all of them; zero if none were.
	first, before time.Time
	open          job.Tick // the tick that can still be claimed; zero if none
	next          job.Tick
}

// sortDue sorts the job's ticks from due on, its next one before the sleep.
func sortDue(j *job.Job, due job.Tick, now time.Time, window time.Duration) dueTicks {
	var o dueTicks
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

// takeDue moves the job to its first tick after now, decides those before, and returns
// the one that is open now, if any.
func (e *engine) takeDue(j *jobState, now time.Time) job.Tick {
	due := j.tick(e.cfg.Window)
	o := sortDue(j.Job, due, now, e.cfg.Window)
	e.jobs.reschedule(j, dueOf(o.next))
	why := ledger.CodeAsleep
	if !due.Start.After(e.commandsKnownAt) {
		why = ledger.CodeStarting
	}
	if len(o.missed) > 0 && j.CatchesUp() && job.Fits(e.cfg.Labels, j.Labels) {
		e.pasts.scan(j, catchup.Span{Job: j.Job, From: due.At, Before: o.until(now), Why: why})
		return o.open
	}
	for i, t := range o.missed {
		j.queueOf("").gaveUp(j)
		if i == 0 && !o.first.IsZero() {
			e.rec.Decided(j.Job, t, job.Because(ledger.Missed, served.AlsoSince(why, o.first)))
		} else {
			e.rec.Decided(j.Job, t, job.MissedFor(why))
		}
	}
	if !o.first.IsZero() {
		e.cfg.Observer(event.Event{Kind: event.Overslept, Entry: ledger.Entry{Job: j.Name}, Since: o.first, Before: o.before})
	}
	return o.open
}

// until is the end of the sleep.
func (o dueTicks) until(now time.Time) time.Time {
	switch {
	case !o.open.IsZero():
		return o.open.At
	case !o.next.IsZero():
		return o.next.At
	default:
		return now
	}
}

// accounted returns, for each job that this replica may run, the first tick that is not
// decided yet. It leaves out jobs whose past nobody has read, unless other replicas have
// accounted for it: learned, by key.
func (e *engine) accounted(learned map[string]time.Time) presence.Accounts {
	now := e.clock.wall()
	all := presence.Accounts{First: e.ready, Until: make(map[string]time.Time, len(e.jobs.list))}
	for _, j := range e.jobs.list {
		if !job.Fits(e.cfg.Labels, j.Labels) {
			continue
		}
		if e.pasts.known(j, learned[j.StoredAs()]) {
			all.Until[j.StoredAs()] = j.undecided(now)
		} else {
			all.Behind = true
		}
	}
	return all
}

// undecided is the first tick of the schedule that this replica has not decided, or now if
// there is none.
func (j *jobState) undecided(now time.Time) time.Time {
	first := now
	earlier := func(at time.Time) {
		if !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	earlier(j.next.at)
	for _, q := range j.queues {
		if q.stream != "" {
			continue
		}
		if len(q.ticks) > 0 {
			earlier(q.ticks[0].At)
		}
		if q.claiming != nil {
			earlier(q.claiming.Tick.At)
		}
	}
	return first
}
