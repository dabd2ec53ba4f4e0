package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A job is what the engine knows of one Job.
type job struct {
	*Job         // as attempts that start now take it; those under way keep theirs
	next     due // the one in the queue; zero if it never fires again
	position int // in the heap of the queue, unless another is before it
	index    int // in the list of jobs

	before, behind *job // those that come at the same instant; see dueQueue

	lanes   []*lane
	running []*ticket // oldest first
}

// A lane decides the ticks of one stream of a job, one after the other.
type lane struct {
	stream   string
	claiming *ticket  // decides a tick; nil if none
	queue    []tick   // come after it, in order
	scans    int      // that look for ticks to come before; none is claimed until they are over
	blocked  *blocked // nil: the last answer was another one

	// Of a job whose ticks are run again. See lookback.go.
	unsure bool      // one was given up that another replica may run
	again  time.Time // the last one that was watched
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

// offer puts a tick that has come into its lane. One that was offered before
// does no harm: the nodes know it.
func (e *engine) offer(j *job, t tick) {
	l := j.lane(t.stream)
	if t.trigger == ledger.BySchedule {
		l.overtake(t)
	}
	e.replace(j, t)
	if len(l.queue) == 0 && j.open(l) { // as a rule
		e.begin(j, l, t)
		return
	}
	l.insert(t)
	e.proceed(j, l)
}

// open tells whether the next tick of the lane may be claimed.
func (j *job) open(l *lane) bool {
	return l.claiming == nil && l.scans == 0 && !j.mustYield(l)
}

// begin starts the attempt for a tick that comes alone, unless it is not to be
// claimed any more.
func (e *engine) begin(j *job, l *lane, t tick) {
	if now := e.clock.wall(); !e.turnsAway(j, l, t, now, 0, 0) {
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

// overtake tells the attempt that claims an earlier tick that t has come.
func (l *lane) overtake(t tick) {
	if a := l.claiming; a != nil && !a.passed && a.tick.at.Before(t.at) {
		a.passed = true
		close(a.later)
	}
}

// proceed accounts for ticks of the lane that are not to be claimed any more,
// and starts the next one unless one is being decided.
func (e *engine) proceed(j *job, l *lane) {
	if len(l.queue) == 0 {
		return
	}
	e.weed(j, l)
	if len(l.queue) > 0 && j.open(l) {
		t := l.queue[0]
		if l.queue = l.queue[1:]; len(l.queue) == 0 {
			l.queue = nil // of many jobs, most wait for nothing
		}
		e.start(j, l, t, e.clock.wall())
	}
}

// weed takes the ticks off the queue that are not to be claimed any more.
func (e *engine) weed(j *job, l *lane) {
	now, late := e.clock.wall(), 0
	for i, t := range slices.Backward(l.queue) { // what is deleted lies behind
		if e.turnsAway(j, l, t, now, len(l.queue)-1-i, late) {
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

// turnsAway tells whether a tick is not to be claimed any more, and accounts for
// it. So many newer ones wait, and so many of these are to be caught up.
func (e *engine) turnsAway(j *job, l *lane, t tick, now time.Time, newer, late int) bool {
	if t.act != nil && (e.draining || t.late(now)) || e.skipPaused(j, t) {
		return true // a request is open to others, or expires
	}
	v := e.tooLate(j, l, t, now, newer, late)
	if v.kind == settled {
		l.gaveUp(j)
		e.decided(j.Job, t, v)
	}
	return v.kind == settled
}

// tooLate is the verdict on a tick that waits, settled if it is not to be
// claimed any more. So many newer ones wait, and so many of these are to be
// caught up.
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

// start begins the attempt for a tick in a goroutine of its own.
func (e *engine) start(j *job, l *lane, t tick, now time.Time) {
	rank, crowd, lead := e.standing(j.Job, t.at)
	if e.cfg.MaxRunning > 0 {
		rank += e.above(j.Job, everyGroup) // or the first to come took the places
	}
	b := &brief{
		job: j.Job.backfilling(t), tick: t, rank: rank, crowd: crowd, later: make(chan struct{}), ended: make(chan struct{}),
	}
	b.waits, b.stopWaiting = context.WithCancelCause(e.stops.claims)
	b.runs, b.cancel = context.WithCancelCause(e.stops.runs)
	own := &ticket{brief: b, owner: j, lane: l, watches: t.trigger == ledger.ByRerun}
	a := &attempt{surroundings: e.around, brief: b, reporter: reporter{own, e.inbox, e.done}, until: t.until}
	a.delay, a.headStart = e.turn(rank, t.until.Sub(now))
	if (t.late(now) || t.trigger == ledger.ByCatchUp) && t.latest.After(now) {
		a.caughtUp, own.catchesUp, a.until = true, t.trigger != ledger.ByRerun, t.latest
		a.delay, a.headStart = e.turn(rank, t.latest.Sub(now))
		a.delay += j.catchUpPause(t)
	}
	a.delay = max(a.delay, min(lead, a.until.Sub(now)/2))
	a.earlier = l.hindsight(j.Job, t)
	a.first = rank == 0 && !a.caughtUp && (crowd > 0 || e.cfg.Roster == nil)
	a.free = a.delay <= 0 && !a.caughtUp && j.inTheWay(b, false) == nil
	l.claiming = own
	e.active++
	e.attempts.Go(a.run)
}

// won moves an attempt from its lane to the runs, so that the lane goes on.
func (e *engine) won(t *ticket) {
	e.wins++
	e.leaveLine(t)
	t.lane.claiming = nil
	t.owner.running = append(t.owner.running, t)
	for _, l := range t.owner.lanes {
		if l.claiming != nil {
			l.claiming.disturbed.Store(true)
		}
	}
	e.replaceBegun(t)
	e.decidedTick(t)
}

// over forgets an attempt of which nothing goes on any more.
func (e *engine) over(t *ticket, left remains) {
	e.active--
	e.leaveLine(t)
	close(t.ended)
	t.stopWaiting(nil)
	t.cancel(nil)
	if t.lane.claiming == t {
		t.lane.claiming = nil
	}
	e.ranUntilNow(t)
	e.ended(t, left.superseded)
	e.recall(t, left)
	e.decidedTick(t)
	e.left(t.owner)
}

// proceedAll lets the lanes of the job go on, that of the schedule first.
func (e *engine) proceedAll(j *job) {
	e.proceed(j, j.lane(""))
	if len(j.lanes) == 1 {
		return
	}
	for _, l := range slices.Clone(j.lanes) {
		e.proceed(j, l)
	}
}

// mustYield tells whether a lane must wait for that of the schedule to be
// decided: a backfill would keep scheduled ticks out.
func (j *job) mustYield(l *lane) bool {
	return l.stream == acts.StreamBackfill && j.lane("").claiming != nil
}

// decidedTick lets the lane of the ticket go on.
func (e *engine) decidedTick(t *ticket) {
	if t.watches && !t.catchesUp {
		t.lane.standDown(t.owner, e.clock.wall().Add(e.cfg.Window))
	}
	e.proceedAll(t.owner)
}
