// Package attempt decides one tick on one replica, in a goroutine of its own: it waits for
// what is in the way, claims the tick, runs the job and ends the claim. The engine, which
// starts attempts and answers their questions, is package scheduler: it shares a Brief with
// each, later a Run, and sees nothing else of it.
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
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
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
	Acts       acts.Store
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

// Deps is what all attempts of a replica share.
type Deps struct {
	Engine
	cfg    Config
	stops  Contexts
	turns  *turns
	places *quota // nil: no limit
}

// NewDeps returns what the attempts of a replica share.
func NewDeps(cfg Config, stops Contexts, calls Engine) *Deps {
	return &Deps{
		Engine: calls, cfg: cfg, stops: stops, turns: newTurns(cfg.MaxClaims), places: newPlaces(cfg.MaxRunning),
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

// An attempt decides one tick on this replica, in its own goroutine. It claims the tick,
// carries its run out if it wins, and records the tick if no replica can run it.
type attempt struct {
	admission
	delay, headStart time.Duration // see Start
	first            bool
	blocked          bool // a try or a look has found a competitor
	looks            looks
	end              End
}

// New returns the attempt for the tick of b.
func New(deps *Deps, b *Brief, l loop, how Start) *attempt {
	w := window{task: task{deps, b}, until: how.Until, caughtUp: how.CaughtUp}
	return &attempt{
		admission: admission{window: w, loop: l, free: how.Free, earlier: how.Earlier},
		delay:     how.Delay, headStart: how.HeadStart, first: how.First,
	}
}

// Run decides the tick, and runs it if it is won.
func (a *attempt) Run() {
	defer func() { a.loop.Report(Progress{Phase: Over, End: a.end}) }()
	defer a.leavePlace()
	if !job.Fits(a.cfg.Labels, a.Job.Labels) {
		a.leaveToOthers()
		return
	}
	lease, took, v := a.win()
	if lease == nil {
		a.conclude(v)
		return
	}
	a.carryOut(lease, took)
}

// conclude records a tick that does not run here.
func (a *attempt) conclude(v job.Verdict) {
	a.end.GaveUp = v.Kind == job.Settled || errors.Is(v.Err, errElsewhere)
	switch {
	case v.Kind == job.Postponed:
		return
	case v.Kind == job.Lost:
		if !a.watched { // otherwise the observer was notified before
			a.notify(event.Event{Kind: event.Lost, Err: v.Err})
		}
		return
	case a.Tick.Act != nil && a.othersMayRun(v):
		return
	case a.watched && a.begun():
		return // otherwise nobody began the run that was watched
	case a.Tick.Trigger == ledger.ByRerun && v.Reason.Code == ledger.CodePaused:
		return // the engine offers it again after the pause
	}
	a.Decided(a.Job, a.Tick, v)
}

// leaveToOthers waits for the end of the window of a tick that this replica must not run.
// It records the tick if no replica with the labels is alive that was there when the tick
// came. The record of a run replaces it, so a late roster does no harm.
func (a *attempt) leaveToOthers() {
	retry.After(a.waits, a.Tick.Until.Sub(a.Now()))
	there := slices.DeleteFunc(slices.Clone(a.Live()), func(r roster.Replica) bool { return r.Started.After(a.Tick.Start) })
	if len(roster.Eligible(there, a.Job.Labels)) == 0 {
		a.conclude(job.Because(ledger.Missed, ledger.Reason{Code: ledger.CodePlacement, Details: &ledger.Details{Of: job.LabelText(a.Job.Labels)}}))
	}
}

// othersMayRun reports whether a requested tick is left to other replicas: they may still
// run it, or have run it.
func (a *attempt) othersMayRun(v job.Verdict) bool {
	a.end.Superseded = v.Reason.Code == ledger.CodeSuperseded
	switch v.Reason.Code {
	case ledger.CodeSuperseded, ledger.CodeRefused, ledger.CodeDrained, ledger.CodeRemoved:
		return true
	}
	return false
}

// voidTimeout bounds the return of an unused claim.
const voidTimeout = 2 * time.Second

// win tries until it holds the tick's lease, or knows that it cannot. took is the duration
// of the winning try.
func (a *attempt) win() (lease locking.Lease, took time.Duration, v job.Verdict) {
	closing := a.Tick.Missed(ledger.CodeAsleep)
	if v := a.begin(closing); v.Kind != job.Again {
		return nil, 0, v
	}
	defer a.leaveTurn()
	for tries := 0; ; {
		if v := a.admit(closing); v.Kind != job.Again {
			return nil, 0, v
		}
		if a.waits.Err() != nil || a.remaining() <= 0 && !a.extendToCatchUp(closing) {
			return nil, 0, a.cutShort(closing)
		}
		alone := a.first && tries == 0
		if !alone {
			if waited, v := a.peek(tries, &closing); v.Kind != job.Again {
				return nil, 0, v
			} else if waited || a.waits.Err() != nil { // for example, the job was removed
				continue
			}
		}
		tries++
		lease, took, err := a.try(a.stops.Claims, alone, a.blocked)
		if a.earlier.found() {
			a.postpone()
			return nil, 0, job.Verdict{Kind: job.Postponed}
		}
		a.leaveTurn()
		a.notify(event.Event{Kind: event.Tried, Took: took, Err: err})
		if err == nil {
			return lease, took, job.Verdict{}
		}
		if closing, v = a.denied(tries, took, err, closing); v.Kind != job.Again {
			return nil, 0, v
		}
	}
}

// denied handles a try that was not granted, and waits before the next one, if any. It
// returns the verdict if the window closed now.
func (a *attempt) denied(tries int, took time.Duration, err error, before job.Verdict) (closing, v job.Verdict) {
	a.leavePlace()
	a.blocked = !undecided(err)
	if v := judge(err, a.cfg.Replica); v.Kind != job.Again {
		return before, v
	}
	a.hearNothing(err)
	if a.runsElsewhere(err) && a.watchLease(err) {
		return before, job.Verdict{Kind: job.Again}
	}
	a.earlier.doubt(err, &a.task)
	a.reportBlocked(err)
	if closing = atWindowEnd(err, a.Tick); closing.Outcome == ledger.Skipped || errors.Is(err, locking.ErrUnclaimed) {
		a.keepOpen()
	}
	if !a.pause(tries, took, err, closing) {
		return closing, a.cutShort(closing)
	}
	return closing, job.Verdict{Kind: job.Again}
}

// begin waits before the first try. Catching up first waits for earlier runs.
func (a *attempt) begin(closing job.Verdict) job.Verdict {
	if a.caughtUp {
		if v := a.waitForOwnRuns(); v.Kind != job.Again {
			return v
		}
	}
	if a.wait(a.delay, nil, closing) != timeUp {
		return a.cutShort(closing)
	}
	return job.Verdict{Kind: job.Again}
}

// pause waits before the next try. It returns false if there will be none.
func (a *attempt) pause(tries int, took time.Duration, err error, closing job.Verdict) bool {
	if a.waits.Err() != nil {
		return false
	}
	in := a.retryDelay(tries+a.looks.count, took, err, a.random)
	if in >= a.remaining() && !a.extendToCatchUp(closing) {
		return false
	}
	a.notify(event.Event{Kind: event.Retrying, Err: err, In: in})
	return a.wait(in, nil, closing) == timeUp
}

// noteAnswer adapts the number of concurrent tries to the result of a try or a look that
// began at that time.
func (d *Deps) noteAnswer(begun time.Time, err error) {
	if unanswered(err) {
		d.turns.silence(begun)
	} else {
		d.turns.answer()
	}
}

// try tries once to claim, in one round if it expects no competition, and in two if it has
// met a competitor. A claim that comes too late is given back.
func (a *attempt) try(ctx context.Context, alone, blocked bool) (locking.Lease, time.Duration, error) {
	start, req := time.Now(), a.request()
	if err := a.earlier.find(ctx, &a.task); err != nil || a.earlier.found() {
		a.noteAnswer(start, err)
		return nil, time.Since(start), err
	}
	req.Direct, req.Waiting = alone, blocked
	req.Note = ledger.EncodeNote(a.entry(a.trigger(), ledger.Running, a.Now()))
	lease, err := a.cfg.Locker.TryAcquire(ctx, req)
	now := time.Now()
	took := now.Sub(start)
	a.noteAnswer(start, err)
	if err != nil {
		return nil, took, err
	}
	// A claim that was won while the drain began is run: the other replicas know that the
	// tick is claimed, and do not return to it.
	if err := a.stops.Runs.Err(); err != nil {
		a.void(lease)
		return nil, took, err
	}
	if locking.Expired(now, lease.Deadline().Add(-a.cfg.SafetyMargin)) {
		a.void(lease)
		return nil, took, locking.ErrTooSlow
	}
	return lease, took, nil
}

// void gives back an unused claim, so another replica may run the tick.
func (d *Deps) void(lease locking.Lease) {
	ctx, cancel := context.WithTimeout(d.stops.Releases, voidTimeout)
	defer cancel()
	// A failure changes nothing here: the lease expires, and the locker keeps informing the
	// nodes.
	_ = lease.Void(ctx)
}
