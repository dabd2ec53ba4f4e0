package locking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Keeper keeps a lease alive until it is stopped.
type Keeper struct {
	lease     Tenure
	cfg       KeepConfig
	begun     time.Time
	firstFrom time.Time // when the lease began, for the first extension
	// limit is when MaxHold ends, zero without one. atLimit is set when MaxHold rules
	// out further extensions.
	limit   time.Time
	atLimit atomic.Bool
	invalid error // the error of cfg.Validate

	ctx    context.Context
	cancel context.CancelCauseFunc

	// Most work is short, so the goroutines start only when the timer fires.
	timer  *time.Timer
	active sync.WaitGroup // the timer, and the goroutines it started

	mu      sync.Mutex
	stopped bool
	stop    context.CancelFunc // ends what the timer has started; nil before
}

// Keep extends lease every cfg.Every until Stop is called. The caller must call Stop.
// Keep continues after ctx has ended, so work that is being drained or cancelled stays
// protected until it has returned. It does not release the lease. If cfg is invalid,
// Context ends at once with Validate's error as cause.
//
// An extension that fails is tried again four times as often, until the lease is lost. Leases
// with the same Every are extended at the same instants, so a Locker can batch
// their requests. The first extension may be up to a sixteenth of cfg.Every early.
func Keep(ctx context.Context, lease Tenure, cfg KeepConfig) *Keeper {
	k := &Keeper{lease: lease, begun: time.Now()}
	term := lease.Deadline().Sub(k.begun)
	cfg = cfg.withDefaults(term)
	k.cfg = cfg
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	if k.invalid = cfg.Validate(); k.invalid != nil {
		k.cancel(k.invalid)
		return k
	}
	if cfg.MaxHold > 0 {
		k.limit = k.begun.Add(cfg.MaxHold)
	}
	k.firstFrom = k.begun
	if began := lease.Deadline().Add(-cfg.TTL); cfg.TTL > 0 && began.Before(k.firstFrom) {
		k.firstFrom = began
	}
	first := min(k.untilWatch(), k.untilFirst(), k.remaining(term)-cfg.Margin)
	k.active.Add(1)
	k.timer = time.AfterFunc(first, func() {
		defer k.active.Done()
		k.keep(context.WithoutCancel(ctx), term)
	})
	return k
}

// Context returns the context for the work. It ends when Keep's ctx ends, or with
// context.Canceled by Stop. Otherwise it ends when a local timer finds the deadline less
// the margin passed, when the lease is lost, or when MaxHold is reached (ErrMaxHold). Its
// cause then matches ErrLeaseLost.
func (k *Keeper) Context() context.Context { return k.ctx }

// Do calls work with Context and returns its error. If it is too late to begin, it
// returns ErrLeaseLost without calling work.
func (k *Keeper) Do(work func(context.Context) error) error {
	if k.invalid != nil {
		return k.invalid
	}
	if Expired(time.Now(), k.lease.Deadline().Add(-k.cfg.Margin)) {
		return ErrLeaseLost
	}
	return work(k.ctx)
}

// End ends Context with the cause, unless it has ended already. The lease is kept until
// Stop.
func (k *Keeper) End(cause error) { k.cancel(cause) }

// Stop stops extending, ends Context, and waits for the goroutines. Afterwards the
// caller may release the lease. Stop may be called again.
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

// keep extends the lease and watches its end until Stop.
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

const (
	// gridPerEvery is how many instants within Every are used for extensions.
	gridPerEvery = 16
	// retriesPerEvery is how often within Every a failed extension is tried again.
	retriesPerEvery = 4
)

// untilInstant is how long after now an extension is due that should come in so long. It ends
// on an instant shared with other leases, up to a sixteenth of Every early.
func (k *Keeper) untilInstant(now time.Time, in time.Duration) time.Duration {
	now = now.Round(0) // the wall clock, which all leases share
	if grid := k.cfg.Every / gridPerEvery; grid > 0 {
		return now.Add(in).Truncate(grid).Sub(now)
	}
	return in
}

// untilFirst is how long from now the first extension is due.
func (k *Keeper) untilFirst() time.Duration {
	return k.untilInstant(k.firstFrom, k.cfg.Every) - time.Since(k.firstFrom)
}

// extend extends the lease until ctx ends or the lease is lost, which also ends the
// work. Term is how long an extension lasts.
func (k *Keeper) extend(ctx context.Context, term time.Duration) {
	every := time.NewTimer(k.untilFirst())
	defer every.Stop()
	last := time.NewTimer(k.remaining(term) - k.cfg.Margin)
	defer last.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		case <-last.C:
		}
		room := k.remaining(term)
		if room < 0 {
			k.atLimit.Store(true)
			return
		}
		begun, left := time.Now(), Left(k.lease)
		every.Reset(k.untilInstant(begun, k.cfg.Every))
		err := k.try(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			k.atLimit.Store(room <= k.cfg.Margin)
			term = k.lease.Deadline().Sub(begun)
			last.Reset(k.remaining(term) - k.cfg.Margin)
		} else if retry := time.Now(); retry.Sub(begun) < k.cfg.Every*(retriesPerEvery-1)/retriesPerEvery {
			every.Reset(k.untilInstant(retry, k.cfg.Every/retriesPerEvery))
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

// remaining is the part of MaxHold that remains after an extension made now. The last
// extension is made when no more than a margin remains, so a late timer cannot make the
// lease outlast the limit.
func (k *Keeper) remaining(term time.Duration) time.Duration {
	if k.limit.IsZero() {
		return never
	}
	return time.Until(k.limit) - term
}

func (k *Keeper) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.Try)
	defer cancel()
	return k.lease.Extend(ctx)
}

// watchInterval bounds how late a suspended machine notices that the wall
// clock has run past the deadline while the monotonic clock stood still.
const watchInterval = 250 * time.Millisecond

// watch ends the work a margin before the lease ends.
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

// untilWatch is how long from now to check the lease again. If only the margin is left
// by now, it ends the work and returns 0.
func (k *Keeper) untilWatch() time.Duration {
	deadline, cause := k.end()
	now, end := time.Now(), deadline.Add(-k.cfg.Margin)
	if Expired(now, end) {
		k.cancel(cause)
		return 0
	}
	return min(end.Sub(now), watchInterval)
}

// end is when the right to work ends, and the cause that the work is then given.
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

// KeepConfig says how a lease is kept alive.
type KeepConfig struct {
	// Every is the pause between extensions. Default: a third of the lease's length.
	Every time.Duration
	// Margin is how long before the lease's deadline the work's context ends: the time
	// that the work has to stop. Default: three tenths of Every.
	Margin time.Duration
	// Try bounds one extension. Default: Every.
	Try time.Duration
	// MaxHold bounds how long the lease is kept after the call of Keep, whether or not
	// the work has stopped. The lease then ends up to a margin earlier, and the work's
	// context a margin before the lease, with cause ErrMaxHold. Default: no bound.
	MaxHold time.Duration
	// TTL is the length of the lease, drift included. If it is set, the first extension
	// is due Every after the lease began, instead of after the call of Keep. Set it so
	// that a claim delayed by slow nodes is extended in time.
	TTL time.Duration
	// Extended, if set, is called after each try to extend the lease.
	Extended func(Extension)
}

// An Extension is the result of one try to extend a lease.
type Extension struct {
	// Deadline is that of the lease after the try.
	Deadline time.Time
	// Left is how long the lease still lasted when the try began, and Took the duration
	// of the try.
	Left, Took time.Duration
	// Poll holds each node's answer; zero if the lease is not Polled.
	Poll Poll
	// Err is why the deadline did not move; nil if it did.
	Err error
}

// withDefaults returns a copy of c with defaults filled in for a lease of that length.
func (c KeepConfig) withDefaults(lasts time.Duration) KeepConfig {
	c.Every = cmp.Or(c.Every, max(cmp.Or(c.TTL, lasts)/3, time.Millisecond))
	c.Margin = cmp.Or(c.Margin, 3*c.Every/10)
	c.Try = cmp.Or(c.Try, c.Every)
	return c
}

// Validate reports what is wrong with c.
func (c KeepConfig) Validate() error {
	switch {
	case c.Every < 0 || c.Margin < 0 || c.Try < 0:
		return fmt.Errorf("holding a lease: extend every %v for up to %v with a margin of %v: use positive durations", c.Every, c.Try, c.Margin)
	case c.MaxHold != 0 && c.MaxHold <= c.Margin:
		return fmt.Errorf("holding a lease: max hold %v with a margin of %v: allow more than the margin, or 0 for no bound", c.MaxHold, c.Margin)
	}
	return nil
}
