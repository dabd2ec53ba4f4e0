package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// lateRelease bounds a release whose lease has ended: one round, so that the
// ledger learns how the run ended.
const lateRelease = 2 * time.Second

// work runs the job under lease, and releases it.
func (a *attempt) work(lease locking.Lease, took time.Duration) {
	a.lease, a.claim = lease, lease.Claim()
	if v := a.takeSlot(); v.kind != again {
		a.void(lease)
		a.conclude(v)
		return
	}
	defer a.freeSlot()
	a.started = a.clock.wall()
	a.report(progress{attempt: a, phase: won})
	a.cfg.Observer.Claimed(a.job.Name, a.claim, took)
	a.tellLate()

	entry, began := a.hold()
	if !began {
		a.void(lease)
		a.conclude(missedFor(whyTooLate))
		return
	}
	entry = a.chain(entry)
	released := a.release(entry)
	a.cfg.Observer.Finished(entry.named(a.job.Name), released)
	a.archive(entry)
}

// hold calls the job's function while the lease is kept. began is false if
// there was no time left to call it.
func (a *attempt) hold() (entry Entry, began bool) {
	var end ending
	keeping := a.keeping()
	keeping.MaxHold = a.cfg.MaxHold
	k := locking.Keep(a.runs.base(), a.tenure(), keeping)
	a.runs.become(k.Context(), k.End)
	err := k.Do(func(ctx context.Context) error {
		began = true
		end = a.calls(ctx)
		return end.err
	})
	k.Stop()
	entry = a.entry("", a.started)
	entry.Token, entry.Attempt, entry.Votes = a.claim.Token, a.claim.Attempt, a.claim.Votes
	entry.Tries, entry.Finished = end.tries, a.clock.wall()
	entry.Outcome, entry.Reason = outcome(err, end.cause)
	if lost := a.slotLost(end.cause); lost != "" && entry.Outcome == LeaseLost {
		entry.Reason = lost
	}
	entry.Reason = joinReasons(entry.Reason, end.why)
	entry.StaleWrites, entry.Reason = a.refused.account(a.job.Name, entry.Reason)
	entry.Error = errorText(err)
	return entry, began
}

// keeping says how leases are kept, without the bound that only runs have.
func (a *attempt) keeping() locking.HoldConfig {
	return locking.HoldConfig{
		Every: a.cfg.ExtendEvery, Margin: a.cfg.SafetyMargin,
		Extended: func(deadline time.Time, err error) {
			a.cfg.Observer.Extended(a.job.Name, a.claim, deadline, err)
		},
	}
}

// call calls the function once and returns its error and the cause for which
// the context of this call had ended by then, if it had.
func (a *attempt) call(ctx context.Context, run jobs.Run) (err, cause error) {
	if limit := a.job.Retry.AttemptTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTryTimeout)
		defer cancel()
	}
	ctx = fence.WithObserver(ctx, func(e *fence.StaleError) { a.refuse(run, *e) })
	err = a.await(ctx, jobs.Go(ctx, a.handler(), run))
	a.tellLost(ctx)
	return err, context.Cause(ctx)
}

// await waits until the function has returned, and reports one that has not
// SafetyMargin after its context ended.
func (a *attempt) await(ctx context.Context, returned <-chan error) error {
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
	}
	a.tellLost(ctx)
	since := a.clock.wall()
	timer := time.NewTimer(a.cfg.SafetyMargin)
	defer timer.Stop()
	select {
	case err := <-returned:
		return err
	case <-timer.C:
	}
	a.cfg.Observer.Overdue(a.job.Name, a.claim, since)
	a.report(progress{attempt: a, phase: overdue, since: since})
	err := <-returned
	a.report(progress{attempt: a, phase: overdue}) // it may be called again
	return err
}

// describe is what the function learns of its run in the given call.
func (a *attempt) describe(try int) jobs.Run {
	id := a.tick.entry(a.job, a.cfg.Replica).ID()
	return jobs.Run{
		ID: id, Job: a.job.Name, Key: a.job.renamedFrom(), Tick: a.tick.nominal,
		Token: a.claim.Token, Attempt: a.claim.Attempt, Try: try,
		Trigger: string(a.trigger()), Parent: a.tick.parent(), Replica: a.cfg.Replica,
		Logger: slog.New(&lazyHandler{attempt: a, id: id, try: try}),
	}
}

// logger says which run, and which call of the function, a line comes from.
func (a *attempt) logger(id string, try int) slog.Handler {
	return a.log.handler(a.cfg.Logger.With(
		slog.String("run", id), slog.String("job", a.job.Name),
		slog.String("tick", jobs.FormatTick(a.tick.nominal)), slog.Uint64("token", uint64(a.claim.Token)),
		slog.Int("attempt", a.claim.Attempt), slog.Int("try", try),
		slog.String("trigger", string(a.trigger())), slog.String("replica", a.cfg.Replica)))
}

// release tells the nodes how the run ended and frees the lock, for as long as
// the lease lasts: afterwards the ledger calls the run interrupted anyway. That
// the lease had run out is no failure: the record is kept, and says what became
// of the run.
func (a *attempt) release(entry Entry) error {
	left := max(time.Until(a.lease.Deadline()), lateRelease)
	ctx := a.deadlines.until(a.stops.releases, time.Now().Add(left))
	if err := a.lease.Release(ctx, EncodeNote(entry)); !errors.Is(err, locking.ErrExpired) {
		return err
	}
	return nil
}
