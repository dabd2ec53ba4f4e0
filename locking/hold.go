package locking

import (
	"context"
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
	// MaxHold bounds how long the lease is kept, counted from the call of Hold
	// or Keep: it is not extended beyond that, whether or not the work has
	// stopped. The lease then ends up to a margin earlier, and the work's context
	// a margin before the lease, with cause ErrMaxHold. Default: no bound.
	MaxHold time.Duration
	// Begun is when the work began, if that was before the call of Hold or Keep:
	// what counts from the call then counts from there. Default: at the call.
	Begun time.Time
	// TTL is how long the lease lasts, drift included. With it the first extension is
	// due Every after the lease began, by its deadline, and not after the call: a claim
	// that slow nodes have delayed has less time left. Default: after the call, or Begun.
	TTL time.Duration
	// Extended, if set, is told of each try to extend the lease.
	Extended func(Extension)
}

// An Extension is what became of one try to extend a lease.
type Extension struct {
	// Deadline is that of the lease afterwards.
	Deadline time.Time
	// Left is how much longer the lease lasted when the try began, and Took how
	// long the try took.
	Left, Took time.Duration
	// Poll is what each node said; zero if the lease is not Polled.
	Poll Poll
	// Err is why the deadline stays where it was; nil if it moved.
	Err error
}

// Validate says what is wrong with c.
func (c HoldConfig) Validate() error {
	switch {
	case c.Every <= 0 || c.Margin < 0 || c.Try < 0:
		return fmt.Errorf("holding a lease: extend every %v for up to %v with a margin of %v: use positive durations", c.Every, c.Try, c.Margin)
	case c.MaxHold != 0 && c.MaxHold <= c.Margin:
		return fmt.Errorf("holding a lease: max hold %v with a margin of %v: allow more than the margin, or 0 for no bound", c.MaxHold, c.Margin)
	}
	return nil
}

// Hold runs work under lease and returns what work returns. The lease is
// extended until work has returned, whatever its context says by then: work
// that ignores its context keeps others out for as long as the nodes and
// MaxHold allow.
//
// The context of work ends with a cause: one that matches ErrLeaseLost when the
// deadline less the margin has passed, by a local timer, never by waiting for
// an extension to fail; ErrMaxHold; the cause of ctx when ctx ends. Hold does
// not release the lease. It leaves no goroutine behind. When it is too late to
// begin, it returns ErrLeaseLost without calling work.
func Hold(ctx context.Context, lease Tenure, cfg HoldConfig, work func(context.Context) error) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	k := Keep(ctx, lease, cfg)
	defer k.Stop()
	return k.Do(work)
}
