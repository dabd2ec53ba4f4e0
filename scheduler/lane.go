package scheduler

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A jobState is the engine's state of one Job.
type jobState struct {
	*job.Job     // for attempts that start now; earlier ones keep theirs
	next     due // the queued tick; zero if it never fires again
	position int // in the queue's heap, unless it is linked behind another
	index    int // in the list of jobs

	before, behind *jobState // jobs due at the same instant; see dueQueue

	lanes   []*lane
	running []*ticket // oldest first
}

// A lane decides the ticks of one stream of a job, one after the other.
type lane struct {
	stream   string
	claiming *ticket    // decides a tick; nil: none
	queue    []job.Tick // the ticks after it, in order
	scans    int        // scans for earlier ticks; none is claimed until they are over
	blocked  *blockade  // nil: no known run blocks the lane

	// For jobs whose ticks are rerun. See lookback.go.
	unsure      bool      // a tick was given up that another replica may run
	watchedUpTo time.Time // the last tick that was watched
}

// lane returns the job's lane of a stream.
func (j *jobState) lane(stream string) *lane {
	for _, l := range j.lanes {
		if l.stream == stream {
			return l
		}
	}
	l := &lane{stream: stream}
	j.lanes = append(j.lanes, l)
	return l
}

// offer puts a due tick into its lane. Offering it again is harmless: the nodes know it.
func (e *engine) offer(j *jobState, t job.Tick) {
	l := j.lane(t.Stream)
	if t.Trigger == ledger.BySchedule {
		l.overtake(t)
	}
	e.replace(j, t)
	if len(l.queue) == 0 && j.open(l) { // the usual case
		e.begin(j, l, t)
		return
	}
	l.insert(t)
	e.proceed(j, l)
}

// open reports whether the next tick of the lane may be claimed.
func (j *jobState) open(l *lane) bool {
	return l.claiming == nil && l.scans == 0 && !j.mustYield(l)
}

// begin starts the attempt for a tick that comes alone, unless it may no longer be claimed.
func (e *engine) begin(j *jobState, l *lane, t job.Tick) {
	if now := e.clock.wall(); !e.rejects(j, l, t, now, 0, 0) {
		e.start(j, l, t, now)
	}
}

// insert puts a tick into the queue, in the order of the stream.
func (l *lane) insert(t job.Tick) {
	i := len(l.queue)
	for i > 0 && t.At.Before(l.queue[i-1].At) {
		i--
	}
	l.queue = slices.Insert(l.queue, i, t)
}

// overtake tells the attempt for an earlier tick that t has come.
func (l *lane) overtake(t job.Tick) {
	if a := l.claiming; a != nil && !a.passed && a.Tick.At.Before(t.At) {
		a.passed = true
		a.Overtake()
	}
}

// proceed prunes the lane and starts its next tick, unless one is being decided.
func (e *engine) proceed(j *jobState, l *lane) {
	if len(l.queue) == 0 {
		return
	}
	e.prune(j, l)
	if len(l.queue) > 0 && j.open(l) {
		t := l.queue[0]
		if l.queue = l.queue[1:]; len(l.queue) == 0 {
			l.queue = nil // most of many jobs have no queue
		}
		e.start(j, l, t, e.clock.wall())
	}
}

// prune removes ticks from the queue that may no longer be claimed.
func (e *engine) prune(j *jobState, l *lane) {
	now, late := e.clock.wall(), 0
	for i, t := range slices.Backward(l.queue) { // deletions are behind i
		if e.rejects(j, l, t, now, len(l.queue)-1-i, late) {
			l.queue = slices.Delete(l.queue, i, i+1)
		} else if t.Late(now) {
			late++
		}
	}
	if a := l.claiming; a != nil && !a.watches && a.Tick.Trigger != ledger.ByRerun && a.Tick.Late(now) &&
		a.Job.CatchesUp() && late >= a.Job.CatchUp.Max {
		a.StopWaiting(attempt.ErrTooMany)
	}
}

// rejects reports whether a tick may no longer be claimed, and decides it. newer ticks wait
// behind it, and late of them are to be caught up.
func (e *engine) rejects(j *jobState, l *lane, t job.Tick, now time.Time, newer, late int) bool {
	if t.Act != nil && (e.draining || t.Late(now)) || e.skipPaused(j, t) {
		return true // other replicas may run a request, or it expires
	}
	v := e.tooLate(j, l, t, now, newer, late)
	if v.Kind == job.Settled {
		l.gaveUp(j)
		e.decided(j.Job, t, v)
	}
	return v.Kind == job.Settled
}

// tooLate is the verdict on a waiting tick, settled if it may no longer be claimed. newer
// ticks wait behind it, and late of them are to be caught up.
func (e *engine) tooLate(j *jobState, l *lane, t job.Tick, now time.Time, newer, late int) job.Verdict {
	switch {
	case e.draining:
		return job.MissedFor(ledger.CodeDrained)
	case !t.Late(now):
		return job.Verdict{Kind: job.Again}
	case l.claiming != nil && l.claiming.watches && !l.claiming.catchesUp && t.Trigger != ledger.ByCatchUp:
		return l.behindRun(j, newer, l.claiming.heldElsewhere(now))
	}
	if v, is := j.keptOut(l, t); is {
		return l.behindRun(j, newer, v)
	}
	if why := j.WhyNotCaughtUp(t, now, newer, late); !why.IsZero() {
		return job.Because(ledger.Missed, why)
	}
	return job.Verdict{Kind: job.Again}
}

// start begins the attempt for a tick in its own goroutine.
func (e *engine) start(j *jobState, l *lane, t job.Tick, now time.Time) {
	rank, crowd, lead := e.rankFor(j.Job, t.At)
	if e.cfg.MaxRunning > 0 {
		rank += e.above(j.Job, everyGroup) // otherwise the first tick would take the places
	}
	b := attempt.NewBrief(j.Job.Backfilling(t), t, rank, crowd, e.stops.Contexts)
	own := &ticket{Brief: b, owner: j, lane: l, watches: t.Trigger == ledger.ByRerun}
	how := attempt.Start{Until: t.Until}
	how.Delay, how.HeadStart = e.turn(rank, t.Until.Sub(now))
	if (t.Late(now) || t.Trigger == ledger.ByCatchUp) && t.Latest.After(now) {
		how.CaughtUp, own.catchesUp, how.Until = true, t.Trigger != ledger.ByRerun, t.Latest
		how.Delay, how.HeadStart = e.turn(rank, t.Latest.Sub(now))
		how.Delay += j.CatchUpPause(t)
	}
	how.Delay = max(how.Delay, min(lead, how.Until.Sub(now)/2))
	how.Earlier = l.earlierTicks(j.Job, t)
	how.First = rank == 0 && !how.CaughtUp && (crowd > 0 || e.cfg.Roster == nil)
	how.Free = how.Delay <= 0 && !how.CaughtUp && j.inTheWay(b, false) == nil
	l.claiming = own
	e.active++
	e.attempts.Go(attempt.New(e.deps, b, reporter{own, e.inbox, e.done}, how).Run)
}

// won moves an attempt from its lane to the runs, so the lane can proceed.
func (e *engine) won(t *ticket) {
	e.wins++
	e.leaveLine(t)
	t.lane.claiming = nil
	t.owner.running = append(t.owner.running, t)
	for _, l := range t.owner.lanes {
		if l.claiming != nil {
			l.claiming.NoteRun()
		}
	}
	e.replaceBegun(t)
	e.decidedTick(t)
}

// over removes an attempt that has ended.
func (e *engine) over(t *ticket, end attempt.End) {
	e.active--
	e.leaveLine(t)
	t.Close()
	if t.lane.claiming == t {
		t.lane.claiming = nil
	}
	e.ranUntilNow(t)
	e.ended(t, end.Superseded)
	e.noteEarlier(t, end)
	e.decidedTick(t)
	e.dropIfIdle(t.owner)
}

// proceedAll lets the job's lanes proceed, that of the schedule first.
func (e *engine) proceedAll(j *jobState) {
	e.proceed(j, j.lane(""))
	if len(j.lanes) == 1 {
		return
	}
	for _, l := range slices.Clone(j.lanes) {
		e.proceed(j, l)
	}
}

// mustYield reports whether a lane must wait for the schedule's lane: a backfill would
// block scheduled ticks.
func (j *jobState) mustYield(l *lane) bool {
	return l.stream == acts.StreamBackfill && j.lane("").claiming != nil
}

// decidedTick lets the job's lanes proceed after a tick.
func (e *engine) decidedTick(t *ticket) {
	if t.watches && !t.catchesUp {
		t.lane.reopenWindows(t.owner, e.clock.wall().Add(e.cfg.Window))
	}
	e.proceedAll(t.owner)
}
