package locking

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// A Keeper keeps a lease until it is stopped: [Hold] for work that is no single
// function call.
type Keeper struct {
	lease Tenure
	cfg   HoldConfig
	// limit is when MaxHold ends, zero without one; atLimit, that nothing more
	// will be extended because of it.
	limit   time.Time
	atLimit atomic.Bool

	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
	ended  chan struct{} // closed when the Keeper's goroutines have ended
}

// Keep extends lease every cfg.Every until Stop is called, which must be. It
// goes on after ctx has ended, so that work which is being drained or cancelled
// stays protected until it has really stopped. It does not release the lease.
// A cfg that is not valid ends Context at once, with Validate's error as cause.
func Keep(ctx context.Context, lease Tenure, cfg HoldConfig) *Keeper {
	k := &Keeper{lease: lease, cfg: cfg, ended: make(chan struct{})}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop = stop
	if err := cfg.Validate(); err != nil {
		k.cancel(err)
		close(k.ended)
		return k
	}
	begun := time.Now()
	if cfg.MaxHold > 0 {
		k.limit = begun.Add(cfg.MaxHold)
	}
	go func() {
		defer close(k.ended)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			k.watch(keepCtx)
		}()
		k.extend(keepCtx, lease.Deadline().Sub(begun))
		<-watched
	}()
	return k
}

// Context is what work under the lease goes by. It ends when that of Keep does;
// with a cause that matches ErrLeaseLost when the deadline less the margin has
// passed, by a local timer, or an extension says that others have the lock;
// with ErrMaxHold; or with context.Canceled by Stop.
func (k *Keeper) Context() context.Context { return k.ctx }

// Stop ends the extending and Context, and waits until nothing of either goes
// on any more; afterwards the lease is the caller's to release. It may be
// called again.
func (k *Keeper) Stop() {
	k.stop()
	<-k.ended
	k.cancel(nil)
}

// extend extends the lease until ctx ends or the lease can never be extended
// again, which ends the work too. Term is how long an extension lasts.
func (k *Keeper) extend(ctx context.Context, term time.Duration) {
	every := time.NewTicker(k.cfg.Every)
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
		begun := time.Now()
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
			k.cfg.Extended(k.lease.Deadline(), err)
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
		deadline, cause := k.end()
		now, end := time.Now(), deadline.Add(-k.cfg.Margin)
		if Expired(now, end) {
			k.cancel(cause)
			return
		}
		timer.Reset(min(end.Sub(now), watchInterval))
	}
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
