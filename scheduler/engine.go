package scheduler

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/catchup"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/recorder"
	"github.com/quorate/quorate/scheduler/roster"
)

// longestSleep bounds how late the loop notices that the wall clock was set or the machine
// suspended.
const longestSleep = 15 * time.Second

// maxCommandsWait bounds how long the first ticks wait until the replica has read the pauses.
const maxCommandsWait = 10 * time.Second

// An engine starts an attempt for each tick that is due. Its fields belong to the goroutine
// of run; the goroutines of attempts and of scans send it their results. Each part knows
// only those above it.
type engine struct {
	cfg   Config
	clock clocks
	drift *drift
	rec   *recorder.Recorder

	jobs     jobTable
	dispatch dispatcher
	requests requests
	pasts    pasts

	commandsKnown   bool      // the desk has read them once, or ticks no longer wait for that
	commandsKnownAt time.Time // when ticks stopped waiting for it
	ready           time.Time // when this replica first could run ticks; zero: it never could
	wakePublisher   func()    // once it can

	inbox    *inbox
	queries  chan func(*engine)
	updates  chan update
	aborted  <-chan struct{}
	closing  chan struct{}  // closed when the drain begins
	done     chan struct{}  // closed when run returns
	attempts sync.WaitGroup // attempts and scans

	// End the contexts of attempts, in this order. None ends with the context of Run.
	stop struct{ claims, runs, releases context.CancelCauseFunc }
}

func newEngine(base context.Context, s *Scheduler, rec *recorder.Recorder, live func() []roster.Replica) *engine {
	e := &engine{
		cfg: s.cfg, clock: s.clock, wakePublisher: s.public.Wake, drift: newDrift(s.clock), rec: rec, commandsKnown: s.cfg.Commands == nil,
		inbox: &inbox{some: make(chan struct{}, 1), done: s.done}, queries: s.queries, aborted: s.aborted, done: s.done,
		updates: make(chan update), closing: make(chan struct{}),
	}
	var contexts attempt.Contexts
	contexts.Claims, e.stop.claims = context.WithCancelCause(base)
	contexts.Runs, e.stop.runs = context.WithCancelCause(base)
	contexts.Releases, e.stop.releases = context.WithCancelCause(base)
	e.pasts = pasts{labels: s.cfg.Labels, scanner: catchup.Scanner{
		Replica: s.cfg.Replica, Ledger: s.cfg.Ledger, Roster: s.cfg.Roster, Window: s.cfg.Window,
		Now: e.clock.wall, Live: live, Done: make(chan *catchup.Scan),
	}}
	e.dispatch = dispatcher{
		cfg: s.cfg, now: e.clock.wall, live: live, jobs: &e.jobs, rec: rec, contexts: contexts, working: &e.attempts, inbox: e.inbox,
		deps: attempt.NewDeps(s.cfg.settings(), contexts, attempt.Engine{
			Now: e.clock.wall, Live: live, Decided: rec.Decided, FindRerun: e.pasts.scanner.FindRerun,
		}),
	}
	e.requests = requests{
		replica: s.cfg.Replica, desk: newDesk(s), jobs: &e.jobs, dispatch: &e.dispatch,
		started: map[string]bool{}, settling: map[string]bool{},
	}
	now := e.clock.wall()
	e.jobs.list = make([]*jobState, 0, len(s.lineup.serving))
	for _, key := range slices.Sorted(maps.Keys(s.lineup.serving)) {
		have := s.lineup.serving[key]
		have.state = &jobState{Job: have.job, next: dueOf(have.job.FirstAfter(now, e.cfg.Window))}
		e.plan(have.state)
	}
	return e
}

// run is the loop. It returns after the drain.
func (e *engine) run(ctx context.Context) error {
	defer close(e.done)
	defer e.inbox.close()
	defer func() {
		e.stop.claims(jobs.ErrDraining)
		e.stop.runs(jobs.ErrDraining)
		e.stop.releases(jobs.ErrDraining)
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	commandsWait := time.NewTimer(maxCommandsWait)
	defer commandsWait.Stop()
	for {
		select {
		case <-e.inbox.some:
			e.readInbox()
		case <-timer.C:
			e.readInbox()
			e.wake()
			timer.Reset(e.pause())
		case open := <-e.requests.desk.opened:
			e.readInbox()
			e.applyCommands(open)
			timer.Reset(0)
		case <-commandsWait.C:
			e.setCommandsKnown()
			timer.Reset(0)
		case s := <-e.pasts.scanner.Done:
			e.readInbox()
			e.applyScan(s)
		case q := <-e.queries:
			e.readInbox()
			q(e)
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

// setCommandsKnown lets ticks begin.
func (e *engine) setCommandsKnown() {
	if !e.commandsKnown {
		e.commandsKnown, e.commandsKnownAt = true, e.clock.wall()
	}
}

// noteReady notes when this replica can run ticks for the first time. Of jobs that are new
// in the cluster, earlier ones are not accounted for.
func (e *engine) noteReady() {
	if e.ready.IsZero() && e.commandsKnown && e.cfg.State() == roster.StateReady {
		e.ready = e.clock.wall()
		e.rec.Ready(e.ready)
		e.wakePublisher()
	}
}

// wake starts what is due.
func (e *engine) wake() {
	if by := e.drift.jump(); by != 0 {
		e.cfg.Observer(event.Event{Kind: event.ClockJumped, By: by})
		if by < 0 {
			e.jobs.replan(e.clock.wall(), e.cfg.Window)
			if !e.ready.IsZero() { // else it is ahead, and ticks until then count as nobody's
				e.ready = e.ready.Add(by)
				e.rec.Ready(e.ready)
			}
		}
	}
	e.noteReady()
	now := e.clock.wall()
	for fired := 1; e.commandsKnown && e.jobs.due.any(now); fired++ {
		e.fire(e.jobs.due.first(), now)
		if fired%firesAtOnce == 0 {
			runtime.Gosched() // the first attempts need not wait for the last to begin
			e.readInbox()
		}
	}
	e.startScans()
}

// pause is the time until the loop must wake.
func (e *engine) pause() time.Duration {
	first := e.jobs.due.first()
	if first == nil || !e.commandsKnown {
		return longestSleep
	}
	return min(first.next.start().Sub(e.clock.wall()), longestSleep)
}

// fire takes the job's due ticks off the queue and offers the one that can be claimed.
func (e *engine) fire(j *jobState, now time.Time) {
	if t := e.takeDue(j, now); !t.IsZero() {
		// A pause that ends at this tick, or before, may not have been read again. What waited for its end goes first.
		if pauses := e.dispatch.pauses; !j.PausedFor(pauses, time.Time{}).IsZero() && j.PausedFor(pauses, t.Nominal).IsZero() {
			e.pasts.seekRerun(j, now)
		}
		e.dispatch.offer(j, t)
	}
}

// firesAtOnce is how many ticks are begun before the loop reads its inbox again.
const firesAtOnce = 128

// readInbox applies what attempts have reported. The loop calls it before anything else, as
// if reports did not wait.
func (e *engine) readInbox() {
	for _, p := range e.inbox.take() {
		switch t := p.ticket; p.Phase {
		case attempt.Asking:
			e.dispatch.prune(t.owner, t.queue) // time has passed: there may be too many to catch up
			p.answer <- attempt.Answer{BlockedBy: t.owner.inTheWay(t.Assignment, p.CatchesUp), Earlier: t.queue.learned(t)}
		case attempt.Watching:
			t.watches, t.holder, t.unheard = true, p.Blocker, p.SilenceVerdict
		case attempt.Blocked:
			t.queue.block(p.Blocker, e.clock.wall())
			e.dispatch.prune(t.owner, t.queue)
		case attempt.Queuing:
			p.answer <- attempt.Answer{Slots: attempt.SlotQueue{
				NotFirst: e.dispatch.slotQueue.join(t), Above: e.jobs.above(t.Job, t.Job.Group),
			}}
		case attempt.Won:
			t.run = p.Run
			e.dispatch.won(t)
		case attempt.Overdue:
			t.overdue = p.Since
		case attempt.Over:
			e.dispatch.over(t, p.End)
			e.lookBehind(t)
			e.requests.ended(t, p.End.Superseded)
			e.jobs.dropIfIdle(t.owner)
		}
	}
}

// lookBehind seeks what had to wait for the end of a run of this replica, unless the next tick asks.
func (e *engine) lookBehind(t *ticket) {
	j := t.owner
	idle := func(q *tickQueue) bool { return q.claiming == nil && len(q.ticks) == 0 }
	if q := j.queueOf(""); t.run != nil && t.queue == q && q.unsure && idle(q) && !e.dispatch.draining && j.PausedFor(e.dispatch.pauses, time.Time{}).IsZero() {
		q.unsure = false
		e.pasts.seekRerun(j, e.clock.wall())
		e.startScans()
	}
}

// applyCommands applies the open commands.
func (e *engine) applyCommands(open commands.Open) {
	before := e.dispatch.pauses
	e.dispatch.pauses = commands.Open{Pauses: open.Pauses, Ended: open.Ended}
	e.setCommandsKnown()
	e.noteReady()
	if !slices.EqualFunc(open.Pauses, before.Pauses, func(a, b commands.Command) bool { return a.ID == b.ID }) {
		for _, j := range e.jobs.list {
			e.pauseChanged(j, !j.PausedFor(before, time.Time{}).IsZero())
		}
	}
	e.requests.apply(open)
}

// A ticket is the loop's state of an attempt. Only the loop uses it.
type ticket struct {
	*attempt.Assignment
	owner *jobState
	queue *tickQueue
	run   *attempt.Run // once the tick is won; the loop reads only fields that no longer change

	overdue   time.Time        // when the function began to ignore its ended context
	passed    bool             // later is closed
	catchesUp bool             // it caught up from its start, and nobody began the tick before
	watches   bool             // another replica ran or runs the tick
	holder    *attempt.Blocker // that replica; nil: the store does not say any more
	unheard   job.Verdict      // on later ticks then
}

// A reporter reports the attempt's progress to the loop.
type reporter struct {
	ticket *ticket
	inbox  *inbox
}

// Report sends p to the loop, unless that has ended.
func (r reporter) Report(p attempt.Progress) { r.inbox.put(message{ticket: r.ticket, Progress: p}) }

// Consult sends p to the loop and waits for the answer: the zero one if the loop has ended.
func (r reporter) Consult(p attempt.Progress) attempt.Answer {
	m := message{ticket: r.ticket, Progress: p, answer: make(chan attempt.Answer, 1)}
	if !r.inbox.put(m) {
		return attempt.Answer{}
	}
	select {
	case a := <-m.answer:
		return a
	case <-r.inbox.done:
		return attempt.Answer{}
	}
}

// A message is a report of an attempt to the loop, and where it wants the answer.
type message struct {
	ticket *ticket // of the attempt
	attempt.Progress
	answer chan attempt.Answer // of phases asking and queuing; has room for it
}

// An inbox holds the attempts' reports until the loop takes them. It has no limit, so no
// attempt waits for a busy loop: each reports a few times.
type inbox struct {
	some chan struct{}   // holds one element when the empty inbox got a report
	done <-chan struct{} // closed when the loop has ended

	mu     sync.Mutex
	list   []message
	taken  []message // last; only the loop uses it
	closed bool      // the loop has ended
}

// put adds m. It returns false if the loop has ended.
func (b *inbox) put(m message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.list = append(b.list, m)
	if len(b.list) == 1 {
		select {
		case b.some <- struct{}{}:
		default: // the loop has not received the last signal yet
		}
	}
	return true
}

// maxSpare is the largest capacity that an empty inbox keeps.
const maxSpare = 4096

// take empties the inbox. The next call overwrites the result.
func (b *inbox) take() []message {
	spare := b.taken
	clear(spare)
	if cap(spare) > maxSpare {
		spare = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken, b.list = b.list, spare[:0]
	return b.taken
}

// close drops all reports, now and later.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.list = true, nil
}

// clocks read the wall clock, which schedules use, and the monotonic clock, which stops
// while the machine is suspended and never jumps.
type clocks struct {
	wall func() time.Time
	mono func() time.Duration
}

// systemClock is the wall clock of the machine, in UTC: schedules of robfig/cron
// tick in the zone of the time that they are given.
func systemClock() time.Time { return time.Now().UTC().Round(0) }

func newClocks(wall func() time.Time) clocks {
	start := time.Now()
	return clocks{wall: wall, mono: func() time.Duration { return time.Since(start) }}
}

// jumpThreshold is how far wall and monotonic clock may move apart between two readings
// before it counts as a jump. Slewing moves them by milliseconds.
const jumpThreshold = 2 * time.Second

// A drift detects that the two clocks move apart.
type drift struct {
	clock clocks
	wall  time.Time
	mono  time.Duration
}

func newDrift(c clocks) *drift {
	return &drift{clock: c, wall: c.wall(), mono: c.mono()}
}

// jump returns by how much the wall clock ran ahead of the monotonic clock since the last
// call: positive after a suspend or when the clock was set forward, and zero below the
// threshold.
func (d *drift) jump() time.Duration {
	wall, mono := d.clock.wall(), d.clock.mono()
	apart := wall.Sub(d.wall) - (mono - d.mono)
	d.wall, d.mono = wall, mono
	if apart.Abs() < jumpThreshold {
		return 0
	}
	return apart
}
