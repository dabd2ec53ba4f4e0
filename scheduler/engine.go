package scheduler

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

// longestSleep bounds how late the loop notices that the wall clock was set or the machine
// suspended.
const longestSleep = 15 * time.Second

// maxActsWait bounds how long the first ticks wait until the replica has read the pauses.
const maxActsWait = 10 * time.Second

// An engine starts an attempt for each tick that is due. Its fields belong to the goroutine
// of run; the goroutines of attempts send it their progress.
type engine struct {
	cfg   Config
	clock clocks
	drift *drift
	rec   recorders
	live  func() []Replica // the replicas believed to be alive

	jobs       []*job // in no order
	leaving    []*job // removed, but still busy
	due        dueQueue
	scans      []*scan // not started yet
	unread     unread
	updating   bool // an update is half done
	priorities priorities
	wins       int64 // claims since the start
	deps       *attemptDeps
	queuing    []*ticket // have claimed a tick and wait for a slot
	active     int       // attempts that have not reported over
	draining   bool

	// The open requests, as the desk last read them.
	desk            *desk
	actsKnown       bool            // the desk has read them once, or ticks no longer wait for that
	actsKnownAt     time.Time       // when ticks stopped waiting for it
	pauses          []acts.Act      // in force
	startedRequests map[string]bool // requests that this replica has started
	settling        map[string]bool // expired requests, being settled

	inbox    *inbox
	reports  []progress // last taken from the inbox
	scanned  chan *scan
	queries  chan query
	updates  chan update
	aborted  <-chan struct{}
	closing  chan struct{}  // closed when the drain begins
	done     chan struct{}  // closed when run returns
	attempts sync.WaitGroup // attempts and scans

	stops
}

func newEngine(base context.Context, s *Scheduler, rec recorders, live func() []Replica) *engine {
	e := &engine{
		cfg: s.cfg, clock: s.clock, drift: newDrift(s.clock), rec: rec, live: live,
		desk: newDesk(s), actsKnown: s.cfg.Acts == nil, startedRequests: map[string]bool{}, settling: map[string]bool{},
		inbox: newInbox(), scanned: make(chan *scan), queries: s.queries, aborted: s.aborted, done: s.done,
		updates: make(chan update), closing: make(chan struct{}),
		stops: newStops(base),
	}
	e.deps = &attemptDeps{
		cfg: &e.cfg, clock: e.clock, stops: e.stops, live: live, turns: newTurns(s.cfg.MaxClaims), places: newPlaces(s.cfg.MaxRunning),
		decided: e.decided,
	}
	now := e.clock.wall()
	e.jobs = make([]*job, 0, len(s.lineup.serving))
	for _, key := range slices.Sorted(maps.Keys(s.lineup.serving)) {
		have := s.lineup.serving[key]
		have.job = &job{Job: have.Job, next: have.firstAfter(now, e.cfg.Window).due()}
		e.plan(have.job)
	}
	return e
}

// run is the loop. It returns after the drain.
func (e *engine) run(ctx context.Context) error {
	defer close(e.done)
	defer e.inbox.close()
	defer e.stops.all()
	timer := time.NewTimer(0)
	defer timer.Stop()
	actsWait := time.NewTimer(maxActsWait)
	defer actsWait.Stop()
	for {
		select {
		case <-e.inbox.some:
			e.readInbox()
		case <-timer.C:
			e.readInbox()
			e.wake()
			timer.Reset(e.pause())
		case open := <-e.desk.opened:
			e.readInbox()
			e.applyActs(open)
			timer.Reset(0)
		case <-actsWait.C:
			e.setActsKnown()
			timer.Reset(0)
		case s := <-e.scanned:
			e.readInbox()
			e.applyScan(s)
		case q := <-e.queries:
			e.readInbox()
			e.answer(q)
		case u := <-e.updates:
			e.readInbox()
			e.update(u)
			timer.Reset(e.pause())
		case <-ctx.Done():
			return e.drain()
		case <-e.aborted:
			return e.drain()
		}
	}
}

// setActsKnown lets ticks begin.
func (e *engine) setActsKnown() {
	if !e.actsKnown {
		e.actsKnown, e.actsKnownAt = true, e.clock.wall()
	}
}

// wake starts what is due.
func (e *engine) wake() {
	if by := e.drift.jump(); by != 0 {
		e.cfg.Observer(Event{Kind: EventClockJumped, By: by})
		if by < 0 {
			e.replan()
		}
	}
	now := e.clock.wall()
	for fired := 1; e.actsKnown && e.anyDue(now); fired++ {
		e.fire(e.due.first(), now)
		if fired%firesAtOnce == 0 {
			runtime.Gosched() // the first attempts need not wait for the last to begin
			e.readInbox()
		}
	}
	e.startScans()
}

// anyDue reports whether a tick is due.
func (e *engine) anyDue(now time.Time) bool {
	first := e.due.first()
	return first != nil && !first.next.start().After(now)
}

// pause is the time until the loop must wake.
func (e *engine) pause() time.Duration {
	first := e.due.first()
	if first == nil || !e.actsKnown {
		return longestSleep
	}
	return min(first.next.start().Sub(e.clock.wall()), longestSleep)
}

// fire takes the job's due ticks off the queue and offers the one that can be claimed.
func (e *engine) fire(j *job, now time.Time) {
	if t := e.oversleep(j, now); !t.isZero() {
		e.offer(j, t)
	}
}

// decided records a tick that does not run. Any goroutine may call it.
func (e *engine) decided(j *Job, t tick, v verdict) {
	entry := named(t.entry(j, e.cfg.Replica), j.Name)
	entry.Outcome, entry.Reason = v.outcome, v.reason
	e.cfg.Observer(Event{Kind: EventDecided, Entry: entry})
	e.rec.add(j, entry)
}

// firesAtOnce is how many ticks are begun before the loop reads its inbox again.
const firesAtOnce = 128

// readInbox applies what attempts have reported. The loop calls it before anything else, as
// if reports did not wait.
func (e *engine) readInbox() {
	e.reports = e.inbox.take(e.reports)
	for _, p := range e.reports {
		e.apply(p)
	}
}

// apply handles p.
func (e *engine) apply(p progress) {
	switch t := p.ticket; p.phase {
	case asking:
		e.prune(t.owner, t.lane) // time has passed: there may be too many to catch up
		p.answer <- answer{behind: t.owner.inTheWay(t.brief, p.catchesUp)}
	case watching:
		t.watches, t.holder = true, p.holder
	case blocking:
		t.lane.block(p.blocked, e.clock.wall())
		e.prune(t.owner, t.lane)
	case queuing:
		p.answer <- answer{line: e.inLine(t)}
	case won:
		t.run = p.run
		e.won(t)
	case overdue:
		t.overdue = p.since
	case over:
		e.over(t, p.end)
	}
}
