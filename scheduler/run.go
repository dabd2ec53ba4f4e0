package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// lateRelease bounds a release whose lease has ended: one round, so that the
// ledger learns how the run ended.
const lateRelease = 2 * time.Second

// An execution is the run of a tick that an attempt has won, in the attempt's goroutine.
type execution struct {
	*attempt

	// Set before the loop is told that the tick is won, never changed.
	lease   locking.Lease
	claim   locking.Claim // what was granted
	slot    locking.Lease // of the job's group; nil if it has none
	started time.Time

	keeper   *locking.Keeper // of the lease
	log      runLog          // what the function logs
	pulse    pulse           // how the lease was extended
	toldLost sync.Once
	spent    int      // tries that failed of attempts that handed the tick over
	refused  refusals // of the run's writes; told by its guards, from anywhere
}

// work runs the job under the lease, and releases it.
func (x *execution) work(took time.Duration) {
	v := x.takeSlot()
	defer x.freeSlot()
	if v.kind == again {
		v = x.pausedMeanwhile()
	}
	if v.kind != again {
		x.void(x.lease)
		x.conclude(v)
		return
	}
	x.started = x.clock.wall()
	x.report(progress{phase: won, run: x})
	x.tell(Event{Kind: EventClaimed, Took: took})

	end := ending{}
	defer func() { x.finish(&end) }() // also when the function ends its goroutine
	x.takeOver()
	if x.inTime() { // the ledger, or a pause of the process, may have taken long
		x.tellStarted()
		x.keep()
		x.calls(&end)
	}
}

// finish tells everybody how the run ended, and gives the lease back.
func (x *execution) finish(end *ending) {
	if end.tries == 0 { // there was no time left to call the function
		x.void(x.lease)
		x.tell(Event{Kind: EventUnused})
		x.conclude(missedFor(ledger.CodeTooLate))
		return
	}
	x.keeper.Stop()
	entry := x.result(end)
	if entry.HandedOver() {
		x.handOver(entry)
		return
	}
	entry = x.chain(entry)
	released := x.release(entry, x.lease.Release)
	x.tellOf(entry, Event{Kind: EventFinished, Err: released})
	x.archive(entry)
}

// result is the ledger's line on the run.
func (x *execution) result(end *ending) ledger.Entry {
	entry := x.entry("", x.started)
	x.granted(&entry)
	entry.Tries, entry.Finished = end.tries, x.clock.wall()
	entry.Outcome, entry.Reason = outcome(end.err, end.cause)
	if lost := x.slotLost(end.cause); !lost.IsZero() && entry.Outcome == ledger.LeaseLost {
		entry.Reason = lost
	}
	entry.Reason = entry.Reason.And(end.why)
	if spent, does := x.handsOver(end); does {
		entry.Outcome, entry.Reason, entry.Spent = ledger.Interrupted, ledger.Reason{Code: ledger.CodeDrained, Variant: ledger.VariantHandedOver}, spent
	}
	entry.StaleWrites, entry.Reason = x.refused.account(x.job.Name, entry.Reason)
	entry.Error = errorText(end.err)
	return entry
}

// granted notes what the run was granted, and how its lease was extended.
func (x *execution) granted(e *ledger.Entry) {
	claim := x.claim
	e.Token, e.Attempt, e.Votes, e.Poll = claim.Token, claim.Attempt, claim.Votes, claim.Poll
	e.Beats = x.pulse.beats.Load()
}

// logger says which run, and which call of the function, a line comes from.
func (c *call) logger() *slog.Logger {
	run := &c.run
	return slog.New(c.log.handler(c.cfg.Logger.With(
		slog.String("run", run.ID), slog.String("job", run.Job),
		slog.String("tick", jobs.FormatTick(run.Tick)), slog.Uint64("token", uint64(run.Token)),
		slog.Int("attempt", run.Attempt), slog.Int("try", run.Try),
		slog.String("trigger", run.Trigger), slog.String("replica", run.Replica))))
}

// release tells the nodes how the run ended and frees the lock, for as long as
// the lease lasts: afterwards the ledger calls the run interrupted anyway. That
// the lease had run out is no failure: the record is kept, and says what became
// of the run.
func (x *execution) release(entry ledger.Entry, by func(context.Context, []byte) error) error {
	began := time.Now()
	left := x.lease.Deadline().Sub(began)
	ctx, cancel := context.WithTimeout(x.stops.releases, max(left, lateRelease))
	defer cancel()
	err := by(ctx, ledger.EncodeNote(entry))
	if errors.Is(err, locking.ErrExpired) {
		err = nil
	}
	x.tellOf(entry, Event{Kind: EventReleased, Left: left, Took: time.Since(began), Err: err})
	return err
}
