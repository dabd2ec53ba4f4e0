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

// longestSleep bounds how late the loop notices that the wall clock was set or
// the machine suspended.
const longestSleep = 15 * time.Second

// longestBlind bounds how long the first ticks wait until the replica knows what
// is paused.
const longestBlind = 10 * time.Second

// An engine turns time into attempts. Everything in it belongs to the goroutine
// of run; the goroutines of attempts send it their progress.
type engine struct {
	cfg   Config
	clock clocks
	drift *drift
	rec   recorders
	live  func() []Replica // those believed to live

	jobs     []*job // in no order
	leaving  []*job // removed, but something of them goes on
	due      dueQueue
	scans    []*scan // to be begun
	unread   unread
	updating bool // an update goes on, of which a step was taken in
	larger   ladders
	wins     int64 // claims, ever
	around   *surroundings
	queuing  []*ticket // have claimed a tick and want a slot
	active   int       // attempts whose goroutine has not said over
	draining bool

	// What was asked of the cluster, as the desk last saw it.
	desk     *desk
	informed bool            // the desk has seen it once, or ticks do not wait for that any more
	blind    time.Time       // until then ticks waited for it
	pauses   []acts.Act      // in force
	heeded   map[string]bool // requests that this replica has begun to do
	settling map[string]bool // those that have expired

	inbox    *inbox
	heard    []progress // what was last taken from it
	scanned  chan *scan
	asks     chan ask
	updates  chan update
	aborted  <-chan struct{}
	closing  chan struct{}  // closed when the drain begins
	done     chan struct{}  // closed when run returns
	attempts sync.WaitGroup // and the scans

	stops
}

func newEngine(base context.Context, s *Scheduler, rec recorders, live func() []Replica) *engine {
	e := &engine{
		cfg: s.cfg, clock: s.clock, drift: newDrift(s.clock), rec: rec, live: live,
		desk: newDesk(s), informed: s.cfg.Acts == nil, heeded: map[string]bool{}, settling: map[string]bool{},
		inbox: newInbox(), scanned: make(chan *scan), asks: s.asks, aborted: s.aborted, done: s.done,
		updates: make(chan update), closing: make(chan struct{}),
		stops: newStops(base),
	}
	e.around = &surroundings{
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
	blind := time.NewTimer(longestBlind)
	defer blind.Stop()
	for {
		select {
		case <-e.inbox.some:
			e.hear()
		case <-timer.C:
			e.hear()
			e.wake()
			timer.Reset(e.pause())
		case open := <-e.desk.opened:
			e.hear()
			e.heed(open)
			timer.Reset(0)
		case <-blind.C:
			e.inform()
			timer.Reset(0)
		case s := <-e.scanned:
			e.hear()
			e.takeIn(s)
		case q := <-e.asks:
			e.hear()
			e.answer(q)
		case u := <-e.updates:
			e.hear()
			e.update(u)
			timer.Reset(e.pause())
		case <-ctx.Done():
			return e.drain()
		case <-e.aborted:
			return e.drain()
		}
	}
}

// inform lets ticks begin.
func (e *engine) inform() {
	if !e.informed {
		e.informed, e.blind = true, e.clock.wall()
	}
}

// wake starts what has come due.
func (e *engine) wake() {
	if by := e.drift.look(); by != 0 {
		e.cfg.Observer(Event{Kind: EventClockJumped, By: by})
		if by < 0 {
			e.replan()
		}
	}
	now := e.clock.wall()
	for fired := 1; e.informed && e.comes(now); fired++ {
		e.fire(e.due.first(), now)
		if fired%firesAtOnce == 0 {
			runtime.Gosched() // what began first need not wait for the last to begin
			e.hear()
		}
	}
	e.startScans()
}

// comes tells whether a tick has come by now.
func (e *engine) comes(now time.Time) bool {
	first := e.due.first()
	return first != nil && !first.next.start().After(now)
}

// pause is the time to sleep.
func (e *engine) pause() time.Duration {
	first := e.due.first()
	if first == nil || !e.informed {
		return longestSleep
	}
	return min(first.next.start().Sub(e.clock.wall()), longestSleep)
}

// fire takes the job's ticks that have come off the queue and offers the one
// that can be claimed.
func (e *engine) fire(j *job, now time.Time) {
	if t := e.oversleep(j, now); !t.isZero() {
		e.offer(j, t)
	}
}

// decided accounts for a tick that does not run. Any goroutine may call it.
func (e *engine) decided(j *Job, t tick, v verdict) {
	entry := named(t.entry(j, e.cfg.Replica), j.Name)
	entry.Outcome, entry.Reason = v.outcome, v.reason
	e.cfg.Observer(Event{Kind: EventDecided, Entry: entry})
	e.rec.add(j, entry)
}

// firesAtOnce is how many ticks that came together are begun before the loop
// listens to those that go on.
const firesAtOnce = 128

// hear applies what attempts have reported by now. The loop does so before
// anything else, as if reports did not wait.
func (e *engine) hear() {
	e.heard = e.inbox.take(e.heard)
	for _, p := range e.heard {
		e.apply(p)
	}
}

// apply does what follows from p.
func (e *engine) apply(p progress) {
	switch t := p.ticket; p.phase {
	case asking:
		e.weed(t.owner, t.lane) // time has passed: the attempt may be one too many
		p.answer <- answer{behind: t.owner.inTheWay(t.brief, p.catchesUp)}
	case watching:
		t.watches, t.holder = true, p.holder
	case blocking:
		t.lane.block(p.blocked, e.clock.wall())
		e.weed(t.owner, t.lane)
	case queuing:
		p.answer <- answer{line: e.inLine(t)}
	case won:
		t.run = p.run
		e.won(t)
	case overdue:
		t.overdue = p.since
	case over:
		e.over(t, p.left)
	}
}
