package scheduler

import (
	"context"
	"slices"
	"time"
)

// A job is what the engine knows of one Job.
type job struct {
	Job           // as attempts that start now take it; those under way keep theirs
	next     tick // the one in the heap; zero if it never fires again
	position int  // in the heap
	index    int  // in the list of jobs

	lanes   []*lane
	running []*attempt // oldest first
}

// A lane decides the ticks of one stream of a job, one after the other.
type lane struct {
	stream   string
	claiming *attempt // decides a tick; nil if none
	queue    []tick   // come after it, in order
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

// offer puts a tick at the end of its lane. Ticks of a lane must be offered in
// order; one that was offered before does no harm, the nodes know it.
func (e *engine) offer(j *job, t tick) {
	l := j.lane(t.stream)
	j.cancelFor(t)
	l.supersede(t)
	l.queue = append(l.queue, t)
	e.proceed(j, l)
}

// proceed accounts for the lane's ticks whose windows have closed, and starts
// the next one unless one is being decided.
func (e *engine) proceed(j *job, l *lane) {
	now := e.clock.wall()
	l.queue = slices.DeleteFunc(l.queue, func(t tick) bool {
		why := e.tooLate(t, now)
		if why != "" {
			e.decided(j.Job, t, missedFor(why))
		}
		return why != ""
	})
	if l.claiming == nil && len(l.queue) > 0 {
		t := l.queue[0]
		l.queue = l.queue[1:]
		e.start(j, l, t)
	}
}

// tooLate says why a tick that waited cannot be claimed any more.
func (e *engine) tooLate(t tick, now time.Time) string {
	switch {
	case e.draining:
		return whyDrained
	case !now.Before(t.until):
		return whyBehind
	default:
		return ""
	}
}

// start begins the attempt for a tick in a goroutine of its own.
func (e *engine) start(j *job, l *lane, t tick) {
	rank := Rank(j.key(), t.at, e.cfg.Replica, fitting(e.live(), j.Labels))
	a := &attempt{
		cfg: &e.cfg, clock: e.clock, stops: e.stops, report: e.report, decided: e.decided, live: e.live,
		job: j.Job, tick: t, until: t.until, ended: make(chan struct{}), behind: make(chan *attempt, 1),
		delay: stagger(e.cfg.Stagger, rank, t.until.Sub(e.clock.wall())),
		owner: j, lane: l,
	}
	a.waits, a.stopWaiting = context.WithCancelCause(e.stops.claims)
	a.runs, a.cancel = context.WithCancelCause(e.stops.runs)
	l.claiming = a
	e.active++
	e.attempts.Go(a.run)
}

// won moves an attempt from its lane to the runs, so that the lane goes on.
func (e *engine) won(a *attempt) {
	a.lane.claiming = nil
	a.owner.running = append(a.owner.running, a)
	e.proceed(a.owner, a.lane)
}

// over forgets an attempt of which nothing goes on any more.
func (e *engine) over(a *attempt) {
	e.active--
	close(a.ended)
	a.stopWaiting(nil)
	a.cancel(nil)
	if a.lane.claiming == a {
		a.lane.claiming = nil
	}
	a.owner.running = slices.DeleteFunc(a.owner.running, func(r *attempt) bool { return r == a })
	e.proceed(a.owner, a.lane)
	e.left(a.owner)
}
