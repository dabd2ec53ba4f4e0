package attempt

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A task is one tick that this replica is to decide. Its parts may be used by several
// goroutines; nothing else in it changes.
type task struct {
	*Deps
	*Brief
}

// request is the request for the tick, without a note.
func (t *task) request() locking.Request {
	return locking.Request{
		Name: t.Job.StoredAs(), Tick: t.Tick.At, Stream: t.Tick.Stream, Beside: t.Beside(), TTL: t.cfg.TTL, Mode: t.Job.Mode(),
		Holder: t.cfg.Replica,
	}
}

// entry begins the ledger's entry of the tick.
func (t *task) entry(by ledger.Trigger, o ledger.Outcome, started time.Time) ledger.Entry {
	e := t.Tick.Entry(t.Job, t.cfg.Replica)
	e.Trigger, e.Outcome, e.Started = by, o, started
	return e
}

// ledgerLook bounds a query of the ledger.
const ledgerLook = 2 * time.Second

// recorded returns the last of the tick's runs in the ledger, at most so many.
func (t *task) recorded(within context.Context, most int) []ledger.Entry {
	ctx, cancel := context.WithTimeout(within, ledgerLook)
	defer cancel()
	id := t.Tick.Entry(t.Job, "").ID()
	runs, _ := t.cfg.Ledger.Runs(ctx, ledger.Query{
		Job: t.Job.StoredAs(), Limit: most, Since: t.Tick.At, Before: t.Tick.At.Add(time.Millisecond),
	})
	return slices.DeleteFunc(slices.Clone(runs), func(run ledger.Entry) bool { return run.ID() != id })
}

// begun reports whether the ledger has a run of the tick.
func (t *task) begun() bool { return len(t.recorded(t.stops.Releases, 1)) > 0 }

// random is a random duration below limit.
func (t *task) random(limit time.Duration) time.Duration {
	return t.cfg.Random(t.Job.Name, t.Tick.At, limit)
}

// together is a duration below limit that is the same for everything that is due on this
// replica at one instant: so looking again takes one message, too.
func (t *task) together(limit time.Duration) time.Duration {
	return limit/2 + time.Duration(uint64(limit/2)*(t.spread()>>32)>>32)
}

// spread is a number for everything that is due on this replica at one instant.
func (t *task) spread() uint64 { return job.Weight("", t.Tick.Start, t.cfg.Replica) }

// lateRelease bounds a release after the end of the lease: one round, to record the
// outcome.
const lateRelease = 2 * time.Second

// A Run is a tick that this replica has won. Nothing in it changes after the loop has
// learned of it, except in its log and its pulse, which any goroutine may read.
type Run struct {
	task
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
	e := r.task.entry(r.Trigger, o, r.Started)
	e.Token, e.Attempt, e.Votes, e.Poll = r.Claim.Token, r.Claim.Attempt, r.Claim.Votes, r.Claim.Poll
	e.Beats = r.pulse.beats.Load()
	return e
}

// An execution is how a run is carried out, in the attempt's goroutine.
type execution struct {
	*Run
	loop   loop
	slot   locking.Lease   // of the job's group; nil if it has none
	keeper *locking.Keeper // of lease and slot
	spent  int             // failed tries of attempts that handed the tick over
	end    ending
	finish finish // by a transaction of the function

	lostOnce sync.Once
	refused  refusals // of the run's writes, from any goroutine
}

// carryOut runs the job under the claim that was won, and ends the claim.
func (a *attempt) carryOut(lease locking.Lease, took time.Duration) {
	run := &Run{task: a.task, lease: lease, Claim: lease.Claim(), Trigger: a.trigger(), CaughtUp: a.caughtUp}
	slot, v := a.takeSlot(run)
	x := &execution{Run: run, loop: a.loop, slot: slot}
	defer x.freeSlot()
	if v.Kind == job.Again {
		v = a.PausedMeanwhile()
	}
	if v.Kind != job.Again {
		a.void(lease)
		a.conclude(v)
		return
	}
	run.Started = a.Now()
	a.loop.Report(Progress{Phase: Won, Run: run})
	run.notify(event.Event{Kind: event.Claimed, Took: took})
	defer a.finish(x) // also when the function ends its goroutine
	x.work()
}

// work calls the function, if there is time for it.
func (x *execution) work() {
	x.takeOver()
	if x.inTime() { // the ledger, or a pause of the process, may have taken long
		x.notifyStarted()
		x.keep()
		x.calls()
	}
}

// finish records and reports how the run ended, and releases the lease.
func (a *attempt) finish(x *execution) {
	if x.end.tries == 0 { // no time was left to call the function
		x.void(x.lease)
		x.notify(event.Event{Kind: event.Unused})
		a.conclude(job.MissedFor(ledger.CodeTooLate))
		return
	}
	x.settle()
	x.keeper.Stop()
	entry, free := x.result(), x.lease.Release
	if x.finish.unknown != nil {
		x.notifyOf(entry, event.Event{Kind: event.Finished, Err: x.finish.unknown})
		x.archive(entry)
		a.end.Unknown = true
		return // whatever was requested or stored now might be wrong
	}
	if entry.HandedOver() { // first free what the next attempt needs
		free = x.lease.HandOver
		x.freeSlot()
		a.leavePlace()
	} else {
		entry = x.chain(entry, x.finish.committed != nil)
	}
	released := x.release(entry, free)
	x.notifyOf(entry, event.Event{Kind: event.Finished, Err: released})
	x.archive(entry)
}

// result is the ledger's entry of the run.
func (x *execution) result() ledger.Entry {
	if entry, is := x.finished(); is {
		return entry
	}
	end, entry := &x.end, x.entry("")
	entry.Tries, entry.Finished = end.tries, x.Now()
	entry.Outcome, entry.Reason = outcome(end.err, end.cause)
	if lost := x.slotLost(end.cause); !lost.IsZero() && entry.Outcome == ledger.LeaseLost {
		entry.Reason = lost
	}
	entry.Reason = entry.Reason.And(end.why)
	if spent, does := x.handsOver(); does {
		entry.Outcome, entry.Reason, entry.Spent = ledger.Interrupted, ledger.Reason{Code: ledger.CodeDrained, Variant: ledger.VariantHandedOver}, spent
	}
	entry.StaleWrites, entry.Reason = x.refused.account(x.Job.Name, entry.Reason)
	entry.Error = errorText(end.err)
	return entry
}

// logger adds the run and the call of the function to each line.
func (c *call) logger() *slog.Logger {
	run := &c.run
	return slog.New(c.log.handler(c.cfg.Logger.With(
		slog.String("run", run.ID), slog.String("job", run.Job),
		slog.String("tick", jobs.FormatTick(run.Tick)), slog.Uint64("token", uint64(run.Token)),
		slog.Int("attempt", run.Attempt), slog.Int("try", run.Try),
		slog.String("trigger", run.Trigger), slog.String("replica", run.Replica))))
}

// release stores how the run ended and frees the lock, for as long as the lease lasts:
// afterwards the ledger calls the run interrupted anyway. An expired lease is no failure:
// the record is stored, and has the outcome of the run.
func (r *Run) release(entry ledger.Entry, by func(context.Context, []byte) error) error {
	began := time.Now()
	left := r.lease.Deadline().Sub(began)
	ctx, cancel := context.WithTimeout(r.stops.Releases, max(left, lateRelease))
	defer cancel()
	err := by(ctx, ledger.EncodeNote(entry))
	if errors.Is(err, locking.ErrExpired) {
		err = nil
	}
	r.notifyOf(entry, event.Event{Kind: event.Released, Left: left, Took: time.Since(began), Err: err})
	return err
}

// keep begins to extend the lease. The keeper's context is the run's.
func (x *execution) keep() {
	keeping := x.keeping()
	keeping.MaxHold = x.cfg.MaxHold
	x.keeper = locking.Keep(x.runs, x.tenure(), keeping)
}

// inTime reports whether there is time left for the function if the lease is not extended.
func (x *execution) inTime() bool {
	return !locking.Expired(time.Now(), x.tenure().Deadline().Add(-x.cfg.SafetyMargin))
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

// keeping is how leases are kept, without the bound for runs.
func (r *Run) keeping() locking.KeepConfig {
	return locking.KeepConfig{
		Every: r.cfg.ExtendEvery, Margin: r.cfg.SafetyMargin, TTL: r.cfg.TTL,
		Extended: func(e locking.Extension) {
			r.pulse.add(e, r.Now())
			r.notify(event.Event{Kind: event.Extended, Deadline: e.Deadline, Left: e.Left, Took: e.Took, Err: e.Err})
		},
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
