package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// lateRelease bounds a release whose lease has ended: one round, so that the
// ledger learns how the run ended.
const lateRelease = 2 * time.Second

// work runs the job under lease, and releases it.
func (a *attempt) work(lease locking.Lease, took time.Duration) {
	a.lease = lease
	v := a.takeSlot()
	defer a.freeSlot()
	if v.kind == again {
		v = a.pausedMeanwhile()
	}
	if v.kind != again {
		a.void(lease)
		a.conclude(v)
		return
	}
	a.started = a.clock.wall()
	a.report(progress{attempt: a, phase: won})
	a.cfg.Observer.Claimed(a.job.Name, a.claim(), took)

	end := ending{}
	defer func() { a.finish(&end) }() // also when the function ends its goroutine
	if a.inTime() {
		a.tellStarted()
		a.calls(&end)
	}
}

// finish tells everybody how the run ended, and gives the lease back.
func (a *attempt) finish(end *ending) {
	a.keepNoMore()
	if end.tries == 0 { // there was no time left to call the function
		a.void(a.lease)
		a.cfg.Observer.Unused(a.job.Name, a.claim())
		a.conclude(missedFor(CodeTooLate))
		return
	}
	entry := a.result(end)
	if entry.HandedOver() {
		a.handOver(entry)
		return
	}
	entry = a.chain(entry)
	released := a.release(entry, a.lease.Release)
	a.cfg.Observer.Finished(entry.named(a.job.Name), released)
	a.archive(entry)
}

// result is the ledger's line on the run.
func (a *attempt) result(end *ending) Entry {
	entry := a.entry("", a.started)
	a.granted(&entry)
	entry.Tries, entry.Finished = end.tries, a.clock.wall()
	entry.Outcome, entry.Reason = outcome(end.err, end.cause)
	if lost := a.slotLost(end.cause); !lost.IsZero() && entry.Outcome == LeaseLost {
		entry.Reason = lost
	}
	entry.Reason = entry.Reason.And(end.why)
	if spent, does := a.handsOver(end); does {
		entry.Outcome, entry.Reason, entry.Spent = Interrupted, Reason{Code: CodeDrained, Variant: VariantHandedOver}, spent
	}
	entry.StaleWrites, entry.Reason = a.refused.account(a.job.Name, entry.Reason)
	entry.Error = errorText(end.err)
	return entry
}

// granted notes what the run was granted, and how its lease was extended.
func (a *attempt) granted(e *Entry) {
	claim := a.claim()
	e.Token, e.Attempt, e.Votes, e.Poll = claim.Token, claim.Attempt, claim.Votes, claim.Poll
	e.Beats = a.pulse.beats.Load()
}

// lineHandler says which run, and which call of the function, a line comes from.
func (c *call) lineHandler() slog.Handler {
	run := &c.run
	return c.attempt.log.handler(c.cfg.Logger.With(
		slog.String("run", run.ID), slog.String("job", run.Job),
		slog.String("tick", jobs.FormatTick(run.Tick)), slog.Uint64("token", uint64(run.Token)),
		slog.Int("attempt", run.Attempt), slog.Int("try", run.Try),
		slog.String("trigger", run.Trigger), slog.String("replica", run.Replica)))
}

// release tells the nodes how the run ended and frees the lock, for as long as
// the lease lasts: afterwards the ledger calls the run interrupted anyway. That
// the lease had run out is no failure: the record is kept, and says what became
// of the run.
func (a *attempt) release(entry Entry, by func(context.Context, []byte) error) error {
	began := time.Now()
	left := a.lease.Deadline().Sub(began)
	ctx := a.deadlines.until(a.stops.releases, began.Add(max(left, lateRelease)))
	err := by(ctx, EncodeNote(entry))
	if errors.Is(err, locking.ErrExpired) {
		err = nil
	}
	a.cfg.Observer.Released(a.job.Name, a.claim(), left, time.Since(began), err)
	return err
}
