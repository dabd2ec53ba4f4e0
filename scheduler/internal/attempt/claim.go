package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

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
