package locking

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// HoldConfig says how a lease is kept while work goes on.
type HoldConfig struct {
	// Every is the pause between extensions. Required.
	Every time.Duration
	// Margin is how long before the lease's deadline the work's context ends:
	// the time the work has to stop. Required.
	Margin time.Duration
	// Try bounds one extension. Default: Every.
	Try time.Duration
	// Extended, if set, is told of each extension and its error.
	Extended func(deadline time.Time, err error)
}

// Hold runs work under lease and returns what work returns. The lease is
// extended until work has returned, whatever its context says by then: work
// that ignores its context keeps others out for as long as the nodes allow.
//
// The context of work ends with cause ErrLeaseLost when the deadline less the
// margin has passed, by a local timer, never by waiting for an extension to
// fail; with the cause of ctx when ctx ends. Hold does not release the lease.
// It leaves no goroutine behind. When it is too late to begin, it returns
// ErrLeaseLost without calling work.
func Hold(ctx context.Context, lease Lease, cfg HoldConfig, work func(context.Context) error) error {
	if cfg.Every <= 0 || cfg.Margin < 0 {
		return fmt.Errorf("holding a lease: extend every %v with a margin of %v: use positive durations", cfg.Every, cfg.Margin)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	// Extending outlives the caller's context: a run that is drained or
	// cancelled must stay protected until it has really stopped.
	keepCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		keep(keepCtx, lease, cfg, cancel)
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(keepCtx, lease, cfg.Margin, cancel)
	}()
	defer func() {
		stop()
		<-kept
		<-watched
	}()
	if Expired(time.Now(), lease.Deadline().Add(-cfg.Margin)) {
		return ErrLeaseLost // too late to begin
	}
	return work(ctx)
}

// keep extends the lease until ctx ends or the lease can never be extended,
// which ends the work too.
func keep(ctx context.Context, lease Lease, cfg HoldConfig, cancel context.CancelCauseFunc) {
	every := time.NewTicker(cfg.Every)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		err := extendOnce(ctx, lease, cfg)
		if ctx.Err() != nil {
			return
		}
		if cfg.Extended != nil {
			cfg.Extended(lease.Deadline(), err)
		}
		if errors.Is(err, ErrLeaseLost) {
			cancel(ErrLeaseLost)
			return
		}
	}
}

func extendOnce(ctx context.Context, lease Lease, cfg HoldConfig) error {
	try := cfg.Try
	if try == 0 {
		try = cfg.Every
	}
	ctx, cancel := context.WithTimeout(ctx, try)
	defer cancel()
	return lease.Extend(ctx)
}

// watchInterval bounds how late a suspended machine notices that the wall
// clock has run past the deadline while the monotonic clock stood still.
const watchInterval = 250 * time.Millisecond

// watch ends the work when the deadline less the margin has passed.
func watch(ctx context.Context, lease Lease, margin time.Duration, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, end := time.Now(), lease.Deadline().Add(-margin)
		if Expired(now, end) {
			cancel(ErrLeaseLost)
			return
		}
		timer.Reset(min(end.Sub(now), watchInterval))
	}
}
