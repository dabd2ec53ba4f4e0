// Package attempt decides one tick on one replica, in a goroutine of its own: it waits for
// what is in the way, claims the tick, runs the job and ends the claim. The engine, which
// starts attempts and answers their questions, is package scheduler: it shares an Assignment
// with each, later a Run, and sees nothing else of it.
package attempt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Contexts are those of the tries to claim, of runs, and of the messages that end a run.
// They end in this order.
type Contexts struct{ Claims, Runs, Releases context.Context }

// Config are the fields of scheduler.Config that attempts need.
type Config struct {
	Replica    string
	Labels     map[string]string
	Locker     locking.Locker
	Ledger     ledger.Store
	Commands   commands.Store
	Archive    ledger.Archive
	Observer   event.Observer
	Middleware []jobs.Middleware
	Logger     *slog.Logger

	TTL, ExtendEvery, SafetyMargin, MaxHold, Window, Stagger time.Duration

	MaxClaims, MaxRunning int

	Random func(job string, tick time.Time, limit time.Duration) time.Duration
}

// Engine are the functions of the engine that attempts call, from any goroutine.
type Engine struct {
	Now     func() time.Time
	Live    func() []roster.Replica
	Decided func(*job.Job, job.Tick, job.Verdict) // records a tick that does not run
	// FindRerun returns the tick of the job's last run before the given time if it must be
	// rerun, the zero tick if not.
	FindRerun func(ctx context.Context, j *job.Job, before time.Time) (job.Tick, error)
}

// Deps is what all attempts of a replica share. Its fields never change.
type Deps struct {
	cfg          Config
	engine       Engine
	stops        Contexts
	claimPermits *claimPermits
	runPermits   *quota // nil: no limit
}

// NewDeps returns what the attempts of a replica share.
func NewDeps(cfg Config, stops Contexts, calls Engine) *Deps {
	return &Deps{
		cfg: cfg, engine: calls, stops: stops, claimPermits: newClaimPermits(cfg.MaxClaims), runPermits: newRunPermits(cfg.MaxRunning),
	}
}

// A Start is how an attempt begins.
type Start struct {
	Until time.Time     // the end of its window; overlap and catch-up extend it
	Delay time.Duration // before the first look, or try
	// HeadStart is how much longer this attempt waits before it tries, for the claims of
	// replicas with smaller ranks.
	HeadStart time.Duration

	Free     bool // nothing blocks it, and it begins at once
	CaughtUp bool // the tick's own window has closed: this is catching up
	// The replica has rank 0 and knows the others: nobody tries before it.
	First bool

	Earlier *EarlierTicks // nil: the job's ticks are not rerun
}

// An attempt decides one tick on this replica. It claims the tick, carries its run out if it
// wins, and records the tick if no replica can run it. Only its own goroutine uses it.
type attempt struct {
	deps       *Deps       // shared with the replica's other attempts
	assignment *Assignment // the tick; shared with the loop, which sends its signals through it
	loop       loop        // hears how it goes

	window window // when it may claim, and what becomes of the tick if it stops

	// What it needs on this replica.
	free           bool // nothing is in its way; true only until it would first ask the loop
	hasRunPermit   bool // from before a look or try until it pauses; from the last try until the run has ended
	hasClaimPermit bool // from before a look or try until that has ended; never in a pause

	// What it does about other replicas.
	delay     time.Duration // before the first look, or try
	headStart time.Duration // before the first try, if the look before finds nothing; zero after that look
	first     bool          // the first try comes without a look, and expects no competition
	blocked   bool          // the last try, or a look since, has found a competitor
	looks     looks
	earlier   *EarlierTicks // nil: the job's ticks are not rerun
	// shown: others may have taken a try that was given up for a claim; once true it stays so. They
	// leave the tick to this replica, as it may leave the tick to them.
	shown bool

	end End // what it reports when it is over
}

// New returns the attempt for the tick of b.
func New(deps *Deps, b *Assignment, l loop, how Start) *attempt {
	return &attempt{
		deps: deps, assignment: b, loop: l,
		window: window{deps: deps, assignment: b, until: how.Until, caughtUp: how.CaughtUp, verdict: b.Tick.Missed(ledger.CodeAsleep)},
		free:   how.Free, delay: how.Delay, headStart: how.HeadStart, first: how.First, earlier: how.Earlier,
	}
}

// Run decides the tick, and runs it if it is won.
func (a *attempt) Run() {
	defer func() { a.loop.Report(Progress{Phase: Over, End: a.end}) }()
	defer a.releaseRunPermit()
	if !job.Fits(a.deps.cfg.Labels, a.assignment.Job.Labels) {
		a.leaveToOthers()
		return
	}
	lease, took := a.win()
	if lease == nil {
		a.conclude(a.window.verdict)
		return
	}
	a.carryOut(lease, took)
}

// win tries until it holds the tick's lease. It returns none when it knows that it cannot:
// the window's verdict then says why, since each step that returns false has set it, or an
// earlier tick goes first. took is the duration of the winning try.
func (a *attempt) win() (lease locking.Lease, took time.Duration) {
	// 1. Begin: catching up waits for the job's earlier runs, and each replica for its time.
	if a.window.caughtUp && !a.waitForOwnRuns() || !a.window.pause(a.delay) {
		return nil, 0
	}
	defer a.releaseClaimPermit()
	for tries := 0; ; {
		// 2. Wait until nothing on this replica is in the way, with a run permit and a claim permit.
		if !a.admit() {
			return nil, 0
		}
		// 3. End with the window, unless the tick may be caught up.
		if a.assignment.waitCtx.Err() != nil || a.window.remaining() <= 0 && !a.window.extendToCatchUp() {
			a.window.cutShort(a.window.verdict)
			return nil, 0
		}
		// 4. Look at one node first, unless no replica tries before this one. After a hint
		// that another one is about to win, begin again.
		alone := a.first && tries == 0
		if !alone {
			waited, ok := a.peek(tries)
			if !ok {
				return nil, 0
			}
			if waited || a.assignment.waitCtx.Err() != nil { // for example, the job was removed
				continue
			}
		}
		// 5. Try to claim, unless the ledger names an earlier tick that must be rerun first.
		tries++
		lease, took, err := a.try(alone)
		if a.earlier.found() {
			return nil, 0
		}
		a.releaseClaimPermit()
		a.notify(event.Event{Kind: event.Tried, Took: took, Err: err})
		// 6. Won: the run begins.
		if err == nil {
			return lease, took
		}
		// 7. Refused: that is final, or may pass. Then wait, and begin again.
		if !a.denied(tries, took, err) {
			return nil, 0
		}
	}
}

// try tries once to claim: in one round if it expects no competition (alone), else in two.
// If the attempt has met a competitor, the Locker first checks whether the lock is free. A
// claim that comes too late is given back.
func (a *attempt) try(alone bool) (locking.Lease, time.Duration, error) {
	start, ctx, cfg := time.Now(), a.deps.stops.Claims, &a.deps.cfg
	if err := a.earlier.find(ctx, a.deps, a.assignment); err != nil || a.earlier.found() {
		a.deps.claimPermits.note(start, err)
		return nil, time.Since(start), err
	}
	req := a.deps.request(a.assignment)
	req.Direct, req.Waiting = alone, a.blocked
	req.Note = ledger.EncodeNote(a.deps.entry(a.assignment, a.window.trigger(), ledger.Running, a.deps.engine.Now()))
	lease, err := cfg.Locker.TryAcquire(ctx, req)
	now := time.Now()
	took := now.Sub(start)
	a.deps.claimPermits.note(start, err)
	if err != nil {
		refused, ok := errors.AsType[*locking.AcquireError](err)
		a.shown = a.shown || ok && refused.MayShow
		return nil, took, err
	}
	// A claim won after the drain began is run: the other replicas know that the tick is
	// claimed, and do not return to it. It is given back only once the drain ends runs, too.
	if err := a.deps.stops.Runs.Err(); err != nil {
		a.deps.void(lease)
		return nil, took, err
	}
	if locking.Expired(now, lease.Deadline().Add(-cfg.SafetyMargin)) {
		a.deps.void(lease)
		a.shown = true
		return nil, took, locking.ErrTooSlow
	}
	return lease, took, nil
}

// denied handles a try that was not granted, and waits before the next one. It returns
// false if there will be none.
func (a *attempt) denied(tries int, took time.Duration, err error) bool {
	a.releaseRunPermit()
	a.blocked = !undecided(err)
	if v, final := judge(err, a.deps.cfg.Replica); final {
		return a.window.stop(v)
	}
	a.hearNothing(err)
	if a.assignment.runsOnOther(err, a.deps.cfg.Replica) && a.watchLease(err) {
		return true
	}
	a.earlier.doubt(err, a.deps.cfg.Replica, a.assignment.Tick.At)
	a.reportBlocked(err)
	w := &a.window
	w.verdict = atWindowEnd(err, a.assignment.Tick)
	if w.verdict.Outcome == ledger.Skipped || errors.Is(err, locking.ErrUnclaimed) {
		w.keepOpen()
	}
	if a.assignment.waitCtx.Err() != nil {
		return w.cutShort(w.verdict)
	}
	in := w.retryDelay(tries+a.looks.count, took, err, a.random)
	if in >= w.remaining() && !w.extendToCatchUp() {
		return w.cutShort(w.verdict)
	}
	a.notify(event.Event{Kind: event.Retrying, Err: err, In: in})
	return w.pause(in)
}

// conclude records a tick that does not run here, unless another replica does.
func (a *attempt) conclude(v job.Verdict) {
	if a.earlier.found() { // the loop begins with that tick, and offers this one again
		a.end.Before = a.earlier.first
		if !a.window.caughtUp {
			a.end.Until = a.window.until
		}
		return
	}
	if v.Kind == job.Lost && a.shown && errors.Is(v.Err, locking.ErrClaimed) { // the record of a run replaces it
		v = overlapSkip(v.Err, a.assignment.Tick)
	}
	a.end.GaveUp = v.Kind == job.Settled || errors.Is(v.Err, errElsewhere)
	if v.Kind == job.Lost {
		if !a.window.watched { // otherwise the observer was notified before
			a.notify(event.Event{Kind: event.Lost, Err: v.Err})
		}
		return
	}
	tick, code := a.assignment.Tick, v.Reason.Code
	if tick.Command != nil {
		a.end.Superseded = code == ledger.CodeSuperseded
		switch code {
		case ledger.CodeSuperseded, ledger.CodeRefused, ledger.CodeDrained, ledger.CodeRemoved:
			return // other replicas may still run the request, or have run it
		}
	}
	switch {
	case a.window.watched && a.deps.begun(a.assignment):
		return // otherwise nobody began the run that was watched
	case tick.Trigger == ledger.ByRerun && code == ledger.CodePaused:
		return // the engine offers it again after the pause
	}
	a.deps.engine.Decided(a.assignment.Job, tick, v)
}

// leaveToOthers waits for the end of the window of a tick that this replica must not run.
// It records the tick if no replica with the labels is alive that was there when the tick
// came. The record of a run replaces it, so a late roster does no harm.
func (a *attempt) leaveToOthers() {
	engine, tick, labels := &a.deps.engine, a.assignment.Tick, a.assignment.Job.Labels
	retry.Sleep(a.assignment.waitCtx, tick.Until.Sub(engine.Now()))
	there := slices.DeleteFunc(slices.Clone(engine.Live()), func(r roster.Replica) bool { return r.Started.After(tick.Start) })
	if len(presence.Eligible(there, labels)) == 0 {
		a.conclude(job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodePlacement, Details: &ledger.Details{Of: job.LabelText(labels)}}))
	}
}

// notify sends an event of the tick before it is won.
func (a *attempt) notify(e event.Event) {
	e.Entry = a.deps.entry(a.assignment, a.window.trigger(), "", time.Time{}).Named(a.assignment.Job.Name)
	a.deps.cfg.Observer(e)
}

// random is a random duration below limit.
func (a *attempt) random(limit time.Duration) time.Duration {
	return a.deps.cfg.Random(a.assignment.Job.Name, a.assignment.Tick.At, limit)
}

// voidTimeout bounds the return of an unused claim.
const voidTimeout = 2 * time.Second

// void gives back an unused claim, so another replica may run the tick.
func (d *Deps) void(lease locking.Lease) {
	ctx, cancel := context.WithTimeout(d.stops.Releases, voidTimeout)
	defer cancel()
	// A failure changes nothing here: the lease expires, and the locker keeps informing the
	// nodes.
	_ = lease.Void(ctx)
}

// request is the request for the tick, without a note.
func (d *Deps) request(b *Assignment) locking.Request {
	return locking.Request{
		Name: b.Job.StoredAs(), Tick: b.Tick.At, Stream: b.Tick.Stream, Beside: b.MayOverlap(), TTL: d.cfg.TTL, Mode: b.Job.Mode(),
		Holder: d.cfg.Replica,
	}
}

// entry begins the ledger's entry of a tick.
func (d *Deps) entry(b *Assignment, by ledger.Trigger, o ledger.Outcome, started time.Time) ledger.Entry {
	e := b.Tick.Entry(b.Job, d.cfg.Replica)
	e.Trigger, e.Outcome, e.Started = by, o, started
	return e
}

// ledgerLook bounds a query of the ledger.
const ledgerLook = 2 * time.Second

// recorded returns the last of the tick's runs in the ledger, at most so many.
func (d *Deps) recorded(within context.Context, b *Assignment, most int) []ledger.Entry {
	ctx, cancel := context.WithTimeout(within, ledgerLook)
	defer cancel()
	id := b.Tick.Entry(b.Job, "").ID()
	runs, _ := d.cfg.Ledger.Runs(ctx, ledger.Query{
		Job: b.Job.StoredAs(), Limit: most, Since: b.Tick.At, Before: b.Tick.At.Add(time.Millisecond),
	})
	return slices.DeleteFunc(slices.Clone(runs), func(run ledger.Entry) bool { return run.ID() != id })
}

// begun reports whether the ledger has a run of the tick.
func (d *Deps) begun(b *Assignment) bool { return len(d.recorded(d.stops.Releases, b, 1)) > 0 }
