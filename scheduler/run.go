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
	err := locking.Hold(&a.runs, a.tenure(), keeping, func(ctx context.Context) error {
		began = true
		end = a.calls(ctx)
		return end.err
	})
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
	defer a.watch(ctx)()
	err = jobs.Call(ctx, a.handler(), run)
	a.tellLost(ctx)
	return err, context.Cause(ctx)
}

// watch looks at a function from the end of its context on. It returns what to
// call when the function has returned.
func (a *attempt) watch(ctx context.Context) (stop func()) {
	returned, watched := make(chan struct{}), make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(watched)
		a.await(ctx, returned)
	})
	return func() {
		close(returned)
		if !unwatch() {
			<-watched
		}
	}
}

// await reports a function that has not returned SafetyMargin after its context
// ended.
func (a *attempt) await(ctx context.Context, returned <-chan struct{}) {
	a.tellLost(ctx)
	since := a.clock.wall()
	timer := time.NewTimer(a.cfg.SafetyMargin)
	defer timer.Stop()
	select {
	case <-returned:
	case <-timer.C:
		a.cfg.Observer.Overdue(a.job.Name, a.claim, since)
		a.report(progress{attempt: a, phase: overdue, since: since})
		<-returned
		a.report(progress{attempt: a, phase: overdue}) // it may be called again
	}
}

// describe is what the function learns of its run in the given call.
func (a *attempt) describe(try int) jobs.Run {
	id := a.tick.entry(a.job, a.cfg.Replica).ID()
	return jobs.Run{
		ID: id, Job: a.job.Name, Key: a.job.renamedFrom(), Tick: a.tick.nominal,
		Token: a.claim.Token, Attempt: a.claim.Attempt, Try: try,
		Trigger: string(a.trigger()), Parent: a.tick.parent(), Replica: a.cfg.Replica,
		Logger: slog.New(&lazyHandler{make: func() slog.Handler { return a.logger(id, try) }}),
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
	ctx, cancel := context.WithTimeout(a.stops.releases, left)
	defer cancel()
	if err := a.lease.Release(ctx, EncodeNote(entry)); !errors.Is(err, locking.ErrExpired) {
		return err
	}
	return nil
}
