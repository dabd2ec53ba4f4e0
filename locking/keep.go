package locking

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A Keeper keeps a lease until it is stopped: [Hold] for work that is no single
// function call.
type Keeper struct {
	lease Tenure
	cfg   HoldConfig
	begun time.Time
	from  time.Time // what the first extension counts from
	// limit is when MaxHold ends, zero without one; atLimit, that nothing more
	// will be extended because of it.
	limit   time.Time
	atLimit atomic.Bool

	ctx    context.Context
	cancel context.CancelCauseFunc

	// Work is short as a rule: only what lasts gets goroutines, when the timer
	// goes off.
	timer  *time.Timer
	active sync.WaitGroup // the timer, and what it has started

	mu      sync.Mutex
	stopped bool
	stop    context.CancelFunc // ends what the timer has started; nil: nothing yet
}

// Keep extends lease every cfg.Every until Stop is called, which must be. It
// goes on after ctx has ended, so that work which is being drained or cancelled
// stays protected until it has really stopped. It does not release the lease.
// A cfg that is not valid ends Context at once, with Validate's error as cause.
//
// Leases that are extended equally often are extended at the same instants, the
// first time up to a sixteenth of cfg.Every early: a Locker may send what comes
// together in one message.
func Keep(ctx context.Context, lease Tenure, cfg HoldConfig) *Keeper {
	k := &Keeper{lease: lease, cfg: cfg, begun: cfg.Begun}
	if k.begun.IsZero() {
		k.begun = time.Now()
	}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	if err := cfg.Validate(); err != nil {
		k.cancel(err)
		return k
	}
	if cfg.MaxHold > 0 {
		k.limit = k.begun.Add(cfg.MaxHold)
	}
	k.from = k.begun
	if since := lease.Deadline().Add(-cfg.TTL); cfg.TTL > 0 && since.Before(k.from) {
		k.from = since
	}
	term := lease.Deadline().Sub(k.begun)
	first := min(k.untilWatch(), k.untilFirst(), k.room(term)-cfg.Margin)
	k.active.Add(1)
	k.timer = time.AfterFunc(first, func() {
		defer k.active.Done()
		k.keep(context.WithoutCancel(ctx), term)
	})
	return k
}

// Context is what work under the lease goes by. It ends when that of Keep does;
// with a cause that matches ErrLeaseLost when the deadline less the margin has
// passed, by a local timer, or an extension says that others have the lock;
// with ErrMaxHold; or with context.Canceled by Stop.
func (k *Keeper) Context() context.Context { return k.ctx }

// Do calls work with Context and returns what it returns. When it is too late to
// begin, it returns ErrLeaseLost without calling work.
func (k *Keeper) Do(work func(context.Context) error) error {
	if Expired(time.Now(), k.lease.Deadline().Add(-k.cfg.Margin)) {
		return ErrLeaseLost
	}
	return work(k.ctx)
}

// End ends Context with the cause, if it has not ended yet. The lease is kept on,
// until Stop.
func (k *Keeper) End(cause error) { k.cancel(cause) }

// Stop ends the extending and Context, and waits until nothing of either goes
// on any more; afterwards the lease is the caller's to release. It may be
// called again.
func (k *Keeper) Stop() {
	k.mu.Lock()
	k.stopped = true
	if k.stop != nil {
		k.stop()
	}
	k.mu.Unlock()
	if k.timer != nil && k.timer.Stop() {
		k.active.Done()
	}
	k.active.Wait()
	k.cancel(nil)
}

// keep does what there is to do for work that lasts, until Stop.
func (k *Keeper) keep(ctx context.Context, term time.Duration) {
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		return
	}
	ctx, k.stop = context.WithCancel(ctx)
	k.mu.Unlock()
	defer k.stop()
	var extending sync.WaitGroup
	extending.Go(func() { k.extend(ctx, term) })
	k.watch(ctx)
	extending.Wait()
}

// gridPerEvery is how many instants there are within Every at which leases are
// extended.
const gridPerEvery = 16

// untilExtension is how long after now to extend the lease next, if it is
// extended, or was begun, now: Every, or less, so that others are extended then.
func (k *Keeper) untilExtension(now time.Time) time.Duration {
	now = now.Round(0) // the wall clock, which all leases share
	if grid := k.cfg.Every / gridPerEvery; grid > 0 {
		return now.Add(k.cfg.Every).Truncate(grid).Sub(now)
	}
	return k.cfg.Every
}

// untilFirst is how long from now to extend the lease first.
func (k *Keeper) untilFirst() time.Duration { return k.untilExtension(k.from) - time.Since(k.from) }

// extend extends the lease until ctx ends or the lease can never be extended
// again, which ends the work too. Term is how long an extension lasts.
func (k *Keeper) extend(ctx context.Context, term time.Duration) {
	every := time.NewTimer(k.untilFirst())
	defer every.Stop()
	last := time.NewTimer(k.room(term) - k.cfg.Margin)
	defer last.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-last.C:
		}
		room := k.room(term)
		if room < 0 {
			k.atLimit.Store(true)
			return
		}
		begun, left := time.Now(), Left(k.lease)
		every.Reset(k.untilExtension(begun))
		err := k.try(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			k.atLimit.Store(room <= k.cfg.Margin)
			term = k.lease.Deadline().Sub(begun)
			last.Reset(k.room(term) - k.cfg.Margin)
		}
		if k.cfg.Extended != nil {
			k.cfg.Extended(Extension{Deadline: k.lease.Deadline(), Left: left, Took: time.Since(begun), Poll: lastPoll(k.lease), Err: err})
		}
		if errors.Is(err, ErrLeaseLost) {
			k.cancel(err)
			return
		}
		if room <= k.cfg.Margin {
			return
		}
	}
}

// never is longer than any lease is kept.
const never = time.Duration(1<<63 - 1)

// room is what an extension made now would leave of MaxHold. The last one is
// made when no more than a margin is left, so that a timer which is late does
// not make the lease outlast the limit.
func (k *Keeper) room(term time.Duration) time.Duration {
	if k.limit.IsZero() {
		return never
	}
	return time.Until(k.limit) - term
}

func (k *Keeper) try(ctx context.Context) error {
	try := k.cfg.Try
	if try == 0 {
		try = k.cfg.Every
	}
	ctx, cancel := context.WithTimeout(ctx, try)
	defer cancel()
	return k.lease.Extend(ctx)
}

// watchInterval bounds how late a suspended machine notices that the wall
// clock has run past the deadline while the monotonic clock stood still.
const watchInterval = 250 * time.Millisecond

// watch ends the work when the lease less the margin is over.
func (k *Keeper) watch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		in := k.untilWatch()
		if in <= 0 {
			return
		}
		timer.Reset(in)
	}
}

// untilWatch is how long from now to look at the lease again. If it is over by
// now, less the margin, it ends the work and returns 0.
func (k *Keeper) untilWatch() time.Duration {
	deadline, cause := k.end()
	now, end := time.Now(), deadline.Add(-k.cfg.Margin)
	if Expired(now, end) {
		k.cancel(cause)
		return 0
	}
	return min(end.Sub(now), watchInterval)
}

// end is when the work must be over, and the cause it is then given.
func (k *Keeper) end() (time.Time, error) {
	deadline := k.lease.Deadline()
	switch {
	case k.limit.IsZero():
		return deadline, ErrLeaseLost
	case !deadline.Before(k.limit):
		return k.limit, ErrMaxHold
	case k.atLimit.Load():
		return deadline, ErrMaxHold
	}
	return deadline, ErrLeaseLost
}
