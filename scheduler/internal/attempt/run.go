package attempt

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

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
