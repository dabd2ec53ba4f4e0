package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A job is the engine's state of one Job.
type job struct {
	*Job         // for attempts that start now; earlier ones keep theirs
	next     due // the queued tick; zero if it never fires again
	position int // in the queue's heap, unless it is linked behind another
	index    int // in the list of jobs

	before, behind *job // jobs due at the same instant; see dueQueue

	lanes   []*lane
	running []*ticket // oldest first
}

// A lane decides the ticks of one stream of a job, one after the other.
type lane struct {
	stream   string
	claiming *ticket  // decides a tick; nil: none
	queue    []tick   // the ticks after it, in order
	scans    int      // scans for earlier ticks; none is claimed until they are over
	blocked  *blocked // nil: no known run blocks the lane

	// For jobs whose ticks are rerun. See lookback.go.
	unsure      bool      // a tick was given up that another replica may run
	watchedUpTo time.Time // the last tick that was watched
}

// lane returns the job's lane of a stream.
func (j *job) lane(stream string) *lane {
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
func (e *engine) offer(j *job, t tick) {
	l := j.lane(t.stream)
	if t.trigger == ledger.BySchedule {
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
func (j *job) open(l *lane) bool {
	return l.claiming == nil && l.scans == 0 && !j.mustYield(l)
}

// begin starts the attempt for a tick that comes alone, unless it may no longer be claimed.
func (e *engine) begin(j *job, l *lane, t tick) {
	if now := e.clock.wall(); !e.rejects(j, l, t, now, 0, 0) {
		e.start(j, l, t, now)
	}
}

// insert puts a tick into the queue, in the order of the stream.
func (l *lane) insert(t tick) {
	i := len(l.queue)
	for i > 0 && t.at.Before(l.queue[i-1].at) {
		i--
	}
	l.queue = slices.Insert(l.queue, i, t)
}

// overtake tells the attempt for an earlier tick that t has come.
func (l *lane) overtake(t tick) {
	if a := l.claiming; a != nil && !a.passed && a.tick.at.Before(t.at) {
		a.passed = true
		close(a.later)
	}
}

// proceed prunes the lane and starts its next tick, unless one is being decided.
func (e *engine) proceed(j *job, l *lane) {
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
func (e *engine) prune(j *job, l *lane) {
	now, late := e.clock.wall(), 0
	for i, t := range slices.Backward(l.queue) { // deletions are behind i
		if e.rejects(j, l, t, now, len(l.queue)-1-i, late) {
			l.queue = slices.Delete(l.queue, i, i+1)
		} else if t.late(now) {
			late++
		}
	}
	if a := l.claiming; a != nil && !a.watches && a.tick.trigger != ledger.ByRerun && a.tick.late(now) &&
		a.job.CatchUp.does() && late >= a.job.CatchUp.withDefaults().Max {
		a.stopWaiting(errTooMany)
	}
}

// rejects reports whether a tick may no longer be claimed, and decides it. newer ticks wait
// behind it, and late of them are to be caught up.
func (e *engine) rejects(j *job, l *lane, t tick, now time.Time, newer, late int) bool {
	if t.act != nil && (e.draining || t.late(now)) || e.skipPaused(j, t) {
		return true // other replicas may run a request, or it expires
	}
	v := e.tooLate(j, l, t, now, newer, late)
	if v.kind == settled {
		l.gaveUp(j)
		e.decided(j.Job, t, v)
	}
	return v.kind == settled
}

// tooLate is the verdict on a waiting tick, settled if it may no longer be claimed. newer
// ticks wait behind it, and late of them are to be caught up.
func (e *engine) tooLate(j *job, l *lane, t tick, now time.Time, newer, late int) verdict {
	switch {
	case e.draining:
		return missedFor(ledger.CodeDrained)
	case !t.late(now):
		return verdict{kind: again}
	case l.claiming != nil && l.claiming.watches && !l.claiming.catchesUp && t.trigger != ledger.ByCatchUp:
		return l.behindRun(j, newer, overlapping(l.claiming.holder, l.claiming.tick.at, time.Time{}))
	}
	if v, is := j.keptOut(l, t); is {
		return l.behindRun(j, newer, v)
	}
	if why := j.CatchUp.refuses(t, now, newer, late); !why.IsZero() {
		return because(ledger.Missed, why)
	}
	return verdict{kind: again}
}

// start begins the attempt for a tick in its own goroutine.
func (e *engine) start(j *job, l *lane, t tick, now time.Time) {
	rank, crowd, lead := e.rankFor(j.Job, t.at)
	if e.cfg.MaxRunning > 0 {
		rank += e.above(j.Job, everyGroup) // otherwise the first tick would take the places
	}
	b := &brief{
		job: j.Job.backfilling(t), tick: t, rank: rank, crowd: crowd, later: make(chan struct{}), ended: make(chan struct{}),
	}
	b.waits, b.stopWaiting = context.WithCancelCause(e.stops.claims)
	b.runs, b.cancel = context.WithCancelCause(e.stops.runs)
	own := &ticket{brief: b, owner: j, lane: l, watches: t.trigger == ledger.ByRerun}
	a := &attempt{attemptDeps: e.deps, brief: b, reporter: reporter{own, e.inbox, e.done}, until: t.until}
	a.delay, a.headStart = e.turn(rank, t.until.Sub(now))
	if (t.late(now) || t.trigger == ledger.ByCatchUp) && t.latest.After(now) {
		a.caughtUp, own.catchesUp, a.until = true, t.trigger != ledger.ByRerun, t.latest
		a.delay, a.headStart = e.turn(rank, t.latest.Sub(now))
		a.delay += j.catchUpPause(t)
	}
	a.delay = max(a.delay, min(lead, a.until.Sub(now)/2))
	a.earlier = l.earlierTicks(j.Job, t)
	a.first = rank == 0 && !a.caughtUp && (crowd > 0 || e.cfg.Roster == nil)
	a.free = a.delay <= 0 && !a.caughtUp && j.inTheWay(b, false) == nil
	l.claiming = own
	e.active++
	e.attempts.Go(a.run)
}

// won moves an attempt from its lane to the runs, so the lane can proceed.
func (e *engine) won(t *ticket) {
	e.wins++
	e.leaveLine(t)
	t.lane.claiming = nil
	t.owner.running = append(t.owner.running, t)
	for _, l := range t.owner.lanes {
		if l.claiming != nil {
			l.claiming.runBegan.Store(true)
		}
	}
	e.replaceBegun(t)
	e.decidedTick(t)
}

// over removes an attempt that has ended.
func (e *engine) over(t *ticket, end attemptEnd) {
	e.active--
	e.leaveLine(t)
	close(t.ended)
	t.stopWaiting(nil)
	t.cancel(nil)
	if t.lane.claiming == t {
		t.lane.claiming = nil
	}
	e.ranUntilNow(t)
	e.ended(t, end.superseded)
	e.noteEarlier(t, end)
	e.decidedTick(t)
	e.dropIfIdle(t.owner)
}

// proceedAll lets the job's lanes proceed, that of the schedule first.
func (e *engine) proceedAll(j *job) {
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
func (j *job) mustYield(l *lane) bool {
	return l.stream == acts.StreamBackfill && j.lane("").claiming != nil
}

// decidedTick lets the job's lanes proceed after a tick.
func (e *engine) decidedTick(t *ticket) {
	if t.watches && !t.catchesUp {
		t.lane.reopenWindows(t.owner, e.clock.wall().Add(e.cfg.Window))
	}
	e.proceedAll(t.owner)
}
