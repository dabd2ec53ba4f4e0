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

// An Execution is the run of a tick that an attempt has won, in the attempt's goroutine.
type Execution struct {
	*attempt

	// Set before the loop learns that the tick is won, then never changed.
	lease   locking.Lease
	Claim   locking.Claim // what was granted
	slot    locking.Lease // of the job's group; nil if it has none
	Started time.Time

	keeper   *locking.Keeper // of the lease
	log      runLog          // what the function logs
	pulse    pulse           // how the lease was extended
	lostOnce sync.Once
	spent    int      // failed tries of attempts that handed the tick over
	refused  refusals // of the run's writes, from any goroutine
}

// work runs the job under the lease, and releases it.
func (x *Execution) work(took time.Duration) {
	v := x.takeSlot()
	defer x.freeSlot()
	if v.Kind == job.Again {
		v = x.PausedMeanwhile()
	}
	if v.Kind != job.Again {
		x.void(x.lease)
		x.conclude(v)
		return
	}
	x.Started = x.Now()
	x.loop.Report(Progress{Phase: Won, Run: x})
	x.notify(event.Event{Kind: event.Claimed, Took: took})

	end := ending{}
	defer func() { x.finish(&end) }() // also when the function ends its goroutine
	x.takeOver()
	if x.inTime() { // the ledger, or a pause of the process, may have taken long
		x.notifyStarted()
		x.keep()
		x.calls(&end)
	}
}

// finish records and reports how the run ended, and releases the lease.
func (x *Execution) finish(end *ending) {
	if end.tries == 0 { // no time was left to call the function
		x.void(x.lease)
		x.notify(event.Event{Kind: event.Unused})
		x.conclude(job.MissedFor(ledger.CodeTooLate))
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
	x.notifyOf(entry, event.Event{Kind: event.Finished, Err: released})
	x.archive(entry)
}

// result is the ledger's entry of the run.
func (x *Execution) result(end *ending) ledger.Entry {
	entry := x.entry("", x.Started)
	x.granted(&entry)
	entry.Tries, entry.Finished = end.tries, x.Now()
	entry.Outcome, entry.Reason = outcome(end.err, end.cause)
	if lost := x.slotLost(end.cause); !lost.IsZero() && entry.Outcome == ledger.LeaseLost {
		entry.Reason = lost
	}
	entry.Reason = entry.Reason.And(end.why)
	if spent, does := x.handsOver(end); does {
		entry.Outcome, entry.Reason, entry.Spent = ledger.Interrupted, ledger.Reason{Code: ledger.CodeDrained, Variant: ledger.VariantHandedOver}, spent
	}
	entry.StaleWrites, entry.Reason = x.refused.account(x.Job.Name, entry.Reason)
	entry.Error = errorText(end.err)
	return entry
}

// CatchesUp reports whether the run catches its tick up.
func (x *Execution) CatchesUp() bool { return x.CaughtUp }

// granted adds the claim, and the extensions of the lease.
func (x *Execution) granted(e *ledger.Entry) {
	claim := x.Claim
	e.Token, e.Attempt, e.Votes, e.Poll = claim.Token, claim.Attempt, claim.Votes, claim.Poll
	e.Beats = x.pulse.beats.Load()
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
func (x *Execution) release(entry ledger.Entry, by func(context.Context, []byte) error) error {
	began := time.Now()
	left := x.lease.Deadline().Sub(began)
	ctx, cancel := context.WithTimeout(x.stops.Releases, max(left, lateRelease))
	defer cancel()
	err := by(ctx, ledger.EncodeNote(entry))
	if errors.Is(err, locking.ErrExpired) {
		err = nil
	}
	x.notifyOf(entry, event.Event{Kind: event.Released, Left: left, Took: time.Since(began), Err: err})
	return err
}
