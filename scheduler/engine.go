package scheduler

import (
	"context"
	"sync"
	"time"
)

// longestSleep bounds how late the loop notices that the wall clock was set or
// the machine suspended.
const longestSleep = 15 * time.Second

// An engine turns time into attempts. Everything in it belongs to the goroutine
// of run; the goroutines of attempts send it their progress.
type engine struct {
	cfg   Config
	clock clocks
	drift *drift
	rec   *recorder
	live  func() []string // the replicas believed to live

	jobs     []*job
	due      dueHeap
	active   int // attempts whose goroutine has not said over
	draining bool

	progress chan progress
	asks     chan chan Snapshot
	aborted  <-chan struct{}
	done     chan struct{} // closed when run returns
	attempts sync.WaitGroup

	stops
}

// A job is what the engine knows of one Job.
type job struct {
	Job
	next     time.Time // the tick in the heap; zero if it never fires again
	position int       // in the heap

	claiming *attempt // decides a tick; nil if none
	running  *attempt // runs a tick; nil if none
	overdue  time.Time
	waiting  tick // comes after claiming; zero if none
}

// A tick of a job may be claimed from at until its window closes.
type tick struct {
	at    time.Time
	until time.Time
}

func newEngine(base context.Context, s *Scheduler, rec *recorder, live func() []string) *engine {
	e := &engine{
		cfg: s.cfg, clock: s.clock, drift: newDrift(s.clock), rec: rec, live: live,
		progress: make(chan progress), asks: s.asks, aborted: s.aborted, done: s.done,
		stops: newStops(base),
	}
	now := e.clock.wall()
	for _, j := range s.jobs {
		e.plan(&job{Job: j}, now)
	}
	return e
}

// run is the loop. It returns after the drain.
func (e *engine) run(ctx context.Context) error {
	defer close(e.done)
	defer e.stops.all()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			e.wake()
			timer.Reset(e.pause())
		case p := <-e.progress:
			e.apply(p)
		case reply := <-e.asks:
			reply <- e.snapshot()
		case <-ctx.Done():
			return e.drain()
		case <-e.aborted:
			return e.drain()
		}
	}
}

// wake starts what has come due.
func (e *engine) wake() {
	if by := e.drift.look(); by != 0 {
		e.cfg.Observer.ClockJumped(by)
		if by < 0 {
			e.replan()
		}
	}
	now := e.clock.wall()
	for len(e.due) > 0 && !e.due[0].next.After(now) {
		e.fire(e.due[0], now)
	}
}

// pause is the time to sleep.
func (e *engine) pause() time.Duration {
	if len(e.due) == 0 {
		return longestSleep
	}
	return min(e.due[0].next.Sub(e.clock.wall()), longestSleep)
}

// fire takes the job's tick off the heap and starts the attempt for it, one at
// a time per job and in order.
func (e *engine) fire(j *job, now time.Time) {
	t := e.catchUp(j, now)
	if t.at.IsZero() {
		return
	}
	if j.claiming == nil {
		e.start(j, t)
		return
	}
	// The window of the tick that waits closed when this one came.
	if !j.waiting.at.IsZero() {
		e.decided(missed(j.Name, j.waiting.at, whyBehind))
	}
	j.waiting = t
}

// start begins the attempt for a tick in a goroutine of its own.
func (e *engine) start(j *job, t tick) {
	rank := Rank(j.Name, t.at, e.cfg.Replica, e.live())
	a := &attempt{
		cfg: &e.cfg, clock: e.clock, stops: e.stops, report: e.report, decided: e.decided,
		job: j.Job, tick: t, before: j.running, ended: make(chan struct{}),
		delay: stagger(e.cfg.Stagger, rank, t.until.Sub(e.clock.wall())),
		owner: j,
	}
	j.claiming = a
	e.active++
	e.attempts.Go(a.run)
}

// decided accounts for a tick that does not run. Any goroutine may call it.
func (e *engine) decided(entry Entry) {
	entry.Trigger, entry.Replica = BySchedule, e.cfg.Replica
	e.cfg.Observer.Decided(entry)
	e.rec.add(entry)
}

// A progress is what an attempt tells the loop.
type progress struct {
	attempt *attempt
	phase   phase
	since   time.Time // of phase overdue
}

type phase uint8

const (
	won     phase = iota // the function is about to be called
	overdue              // the function ignores its ended context
	over                 // decided without a run, or the run has ended
)

// report hands p to the loop. Attempts that outlive the loop report to nobody.
func (e *engine) report(p progress) {
	select {
	case e.progress <- p:
	case <-e.done:
	}
}

// apply updates the job for p and starts the tick that waited for it.
func (e *engine) apply(p progress) {
	a, j := p.attempt, p.attempt.owner
	switch p.phase {
	case won:
		j.claiming, j.running, j.overdue = nil, a, time.Time{}
	case overdue:
		j.overdue = p.since
		return
	case over:
		e.active--
		if j.claiming == a {
			j.claiming = nil
		}
		if j.running == a {
			j.running, j.overdue = nil, time.Time{}
		}
	}
	if j.claiming == nil && !j.waiting.at.IsZero() {
		e.startWaiting(j)
	}
}

// startWaiting starts the tick that waited until the one before was decided.
func (e *engine) startWaiting(j *job) {
	t := j.waiting
	j.waiting = tick{}
	switch {
	case e.draining:
		e.decided(missed(j.Name, t.at, whyDrained))
	case !e.clock.wall().Before(t.until):
		e.decided(missed(j.Name, t.at, whyBehind))
	default:
		e.start(j, t)
	}
}
