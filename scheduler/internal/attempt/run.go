package attempt

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Run is a tick that this replica has won. Nothing in it changes after the loop has
// learned of it, except in its log and its pulse, which any goroutine may read.
type Run struct {
	deps     *Deps
	brief    *Brief
	lease    locking.Lease
	Claim    locking.Claim // what was granted
	Trigger  ledger.Trigger
	CaughtUp bool
	Started  time.Time // zero until the loop learns of it

	log   runLog // what the function logs
	pulse pulse  // how the lease was extended
}

// entry is the ledger's entry of the run, with its claim and the extensions of its lease.
func (r *Run) entry(o ledger.Outcome) ledger.Entry {
	e := r.deps.entry(r.brief, r.Trigger, o, r.Started)
	e.Token, e.Attempt, e.Votes, e.Poll = r.Claim.Token, r.Claim.Attempt, r.Claim.Votes, r.Claim.Poll
	e.Beats = r.pulse.beats.Load()
	return e
}

// An execution is how a run is carried out, in the attempt's goroutine. The function's
// goroutine, and the one that watches it, use it until the function has returned.
type execution struct {
	attempt *attempt // the one that has won the run
	run     *Run
	slot    locking.Lease   // of the job's group; nil if it has none, and once it is free again
	keeper  *locking.Keeper // of lease and slot; nil until the function is about to be called
	spent   int             // failed tries of attempts that handed the tick over
	end     ending          // valid at any time, since the function may end its goroutine
	tx      transaction     // of the function, that ends the run

	lostOnce sync.Once
	refused  refusals // of the run's writes, from any goroutine
}

// carryOut runs the job under the claim that was won, and ends the claim.
func (a *attempt) carryOut(lease locking.Lease, took time.Duration) {
	// 1. Wait for a slot of the job's group.
	run := &Run{
		deps: a.deps, brief: a.brief, lease: lease, Claim: lease.Claim(), Trigger: a.window.trigger(), CaughtUp: a.window.caughtUp,
	}
	slot, ok := a.takeSlot(run)
	x := &execution{attempt: a, run: run, slot: slot}
	defer x.freeSlot()
	// 2. Give the claim back if the tick does not run after all.
	if paused := a.brief.PausedMeanwhile(); ok && paused.Kind == job.Settled {
		ok = a.window.stop(paused)
	}
	if !ok {
		a.deps.void(lease)
		a.conclude(a.window.verdict)
		return
	}
	// 3. Begin the run.
	run.Started = a.deps.engine.Now()
	a.loop.Report(Progress{Phase: Won, Run: run})
	run.notify(event.Event{Kind: event.Claimed, Took: took})
	defer x.finish() // also when the function ends its goroutine
	// 4. Call the function, if there is time for it: the ledger, or a pause of the process,
	// may have taken long.
	x.takeOver()
	if x.inTime() {
		run.notifyStarted()
		keeping := run.keeping()
		keeping.MaxHold = a.deps.cfg.MaxHold
		x.keeper = locking.Keep(a.brief.runs, x.tenure(), keeping)
		x.calls()
	}
}

// keeping is how leases are kept, without the bound for runs.
func (r *Run) keeping() locking.KeepConfig {
	cfg := &r.deps.cfg
	return locking.KeepConfig{
		Every: cfg.ExtendEvery, Margin: cfg.SafetyMargin, TTL: cfg.TTL,
		Extended: func(e locking.Extension) {
			r.pulse.add(e, r.deps.engine.Now())
			r.notify(event.Event{Kind: event.Extended, Deadline: e.Deadline, Left: e.Left, Took: e.Took, Err: e.Err})
		},
	}
}

// inTime reports whether there is time left for the function if the lease is not extended.
func (x *execution) inTime() bool {
	return !locking.Expired(time.Now(), x.tenure().Deadline().Add(-x.run.deps.cfg.SafetyMargin))
}

// cause is why ctx, of the run or of a call, has ended; nil if it has not. It also notices
// an expired lease before ctx does: the process may have been stopped.
func (x *execution) cause(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if cause := context.Cause(x.keeper.Context()); cause != nil {
		return cause
	}
	if !x.inTime() {
		return locking.ErrLeaseLost
	}
	return nil
}

// notify sends an event of the run during the run.
func (r *Run) notify(e event.Event) { r.notifyOf(r.entry(ledger.Running), e) }

// notifyOf sends an event of the run that entry describes.
func (r *Run) notifyOf(entry ledger.Entry, e event.Event) {
	e.Entry, e.Run = event.Named(entry, r.brief.Job.Name), entry.ID()
	r.deps.cfg.Observer(e)
}

// notifyStarted sends EventStarted, and EventLate if the run starts too late. Requested
// ticks of the past are not late.
func (r *Run) notifyStarted() {
	by := r.Started.Sub(r.brief.Tick.Start)
	r.notify(event.Event{Kind: event.Started, By: by})
	if r.brief.Job.LateAfter > 0 && by > r.brief.Job.LateAfter && r.brief.Tick.Trigger != ledger.ByBackfill {
		r.notify(event.Event{Kind: event.Late, By: by})
	}
}

// notifyLost sends EventLeaseLost once, if that is the cause.
func (x *execution) notifyLost(cause error) {
	if errors.Is(cause, locking.ErrLeaseLost) {
		x.lostOnce.Do(func() { x.run.notify(event.Event{Kind: event.LeaseLost, Err: cause}) })
	}
}

// maxBeats bounds how many extensions of a run are stored. It may last for days.
const maxBeats = 16

// A pulse collects beats. It has one writer at a time and any number of readers, which must
// not change them.
type pulse struct{ beats atomic.Pointer[ledger.Beats] }

// add adds an extension that ended now.
func (p *pulse) add(x locking.Extension, now time.Time) {
	b := ledger.Beat{At: now.Add(-x.Took), Left: x.Left, Took: x.Took, Failed: x.Err != nil, Answers: x.Poll.Answers}
	all := ledger.Beats{Least: b}
	if before := p.beats.Load(); before != nil {
		all = *before
	}
	all.Count++
	if b.Left < all.Least.Left {
		all.Least = b
	}
	if b.Failed {
		all.Failed++
		all.Lapse, all.Why = b, lapseReason(x.Err)
	}
	keep := all.Last[max(0, len(all.Last)+1-maxBeats):]
	all.Last = append(slices.Clip(keep), b)
	p.beats.Store(&all)
}

func lapseReason(err error) string {
	if lost, ok := errors.AsType[*slotError](err); ok {
		err = lost // the joined text names it after the job's
	}
	return err.Error()
}
