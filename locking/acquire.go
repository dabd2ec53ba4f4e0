package locking

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Acquire asks l for the lease again and again until it is granted, the tries
// of retry are used up, or ctx has ended. What can never be granted ends it at
// once: a tick that is done or superseded, or that nobody can vouch for any
// more; nodes that refuse this client; a clock that is ahead of theirs; a
// request that makes no sense.
//
// The error is that of the last try, so it matches the sentinel that says why;
// joined with the context's error if that ended first.
func Acquire(ctx context.Context, l Locker, req Request, retry Retry) (Lease, error) {
	retry = retry.WithDefaults()
	if err := retry.Validate(); err != nil {
		return nil, err
	}
	for tries := 1; ; tries++ {
		begun := time.Now()
		lease, err := l.TryAcquire(ctx, req)
		if err == nil {
			return lease, nil
		}
		if hopeless(err, req) || tries == retry.Tries {
			return nil, because(ctx, gaveUp(tries, err))
		}
		if !wait(ctx, retry.pause(tries, time.Since(begun), err)) {
			return nil, because(ctx, err)
		}
	}
}

// hopeless tells whether asking again cannot help.
func hopeless(err error, req Request) bool {
	refused, ok := errors.AsType[*AcquireError](err)
	if !ok {
		return true // no attempt was made: the request is wrong
	}
	switch reason := refused.Reason; {
	case errors.Is(reason, ErrUnvouched):
		return !req.Tick.IsZero() // a plain lock may be had once the nodes vouch again
	default:
		return errors.Is(reason, ErrDone) || errors.Is(reason, ErrSuperseded) ||
			errors.Is(reason, ErrRefused) || errors.Is(reason, ErrFuture)
	}
}

func gaveUp(tries int, err error) error {
	if tries == 1 {
		return err
	}
	return fmt.Errorf("after %d tries: %w", tries, err)
}

// AcquireOrExtend extends held if it is still the caller's and otherwise
// acquires the lock anew, with a new and larger token: who gets another lease
// than held must begin again, since others may have worked meanwhile. It never
// ends up with both: as long as nobody can tell whether held is lost, because
// too few nodes answer, it goes on trying to extend it. A nil held is acquired.
//
// Request must ask for what held was granted for: the same lock, tick and stream,
// Beside or not. What is left of a lost plain lock is released first, so that it
// does not stand in the way.
func AcquireOrExtend(ctx context.Context, l Locker, held Lease, req Request, retry Retry) (Lease, error) {
	if held == nil {
		return Acquire(ctx, l, req, retry)
	}
	if what := differs(held.Claim(), req); what != "" {
		return nil, fmt.Errorf("extending the lease of %q to a request for another %s: ask for what the lease was granted for", held.Claim().Name, what)
	}
	retry = retry.WithDefaults()
	if err := retry.Validate(); err != nil {
		return nil, err
	}
	for tries := 1; ; tries++ {
		begun := time.Now()
		err := held.Extend(ctx)
		switch {
		case err == nil:
			return held, nil
		case errors.Is(err, ErrLeaseLost):
			if req.Tick.IsZero() {
				_ = held.Release(ctx, nil) // says again that it is lost
			}
			return Acquire(ctx, l, req, retry)
		case tries == retry.Tries:
			return nil, because(ctx, gaveUp(tries, err))
		}
		if !wait(ctx, retry.pause(tries, time.Since(begun), err)) {
			return nil, because(ctx, err)
		}
	}
}

// differs names what the request asks for and the claim does not have, empty for
// nothing.
func differs(have Claim, req Request) string {
	switch {
	case have.Name != req.Name:
		return fmt.Sprintf("lock, %q", req.Name)
	case !have.Tick.Equal(req.Tick):
		return fmt.Sprintf("tick, %s", tickText(req.Tick))
	case (Request{Stream: have.Stream}).InStream() != req.InStream():
		return fmt.Sprintf("stream, %q", req.InStream())
	case have.Beside != req.Beside:
		return fmt.Sprintf("share of the lock, beside others: %t", req.Beside)
	}
	return ""
}

func tickText(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return stamp(t)
}
