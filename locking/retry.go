package locking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Defaults of a Retry.
const (
	DefaultTries    = 32
	DefaultMinPause = 20 * time.Millisecond
	DefaultMaxPause = 250 * time.Millisecond
)

// A Retry says how often, and after what pauses, a lock that was not granted is
// asked for again. The zero value stands for the defaults.
type Retry struct {
	// Tries bounds the attempts. Default: DefaultTries; negative: as many as
	// the context has time for.
	Tries int
	// Min and Max bound the pauses. Each is random, from Min up to a limit that
	// doubles from pause to pause up to Max ("full jitter"), so that competitors
	// do not go on meeting each other. Where a try takes long the limit is no
	// less than four times that. Default: DefaultMinPause and DefaultMaxPause,
	// or whichever of the two is set where that lies beyond the other.
	Min, Max time.Duration
}

// WithDefaults returns a copy of r whose unset fields hold their defaults.
func (r Retry) WithDefaults() Retry {
	r.Tries = cmp.Or(r.Tries, DefaultTries)
	if r.Min == 0 {
		r.Min = DefaultMinPause
		if r.Max > 0 {
			r.Min = min(r.Min, r.Max)
		}
	}
	r.Max = cmp.Or(r.Max, max(DefaultMaxPause, r.Min))
	return r
}

// Validate says what is wrong with r, which should have its defaults.
func (r Retry) Validate() error {
	if r.Min <= 0 || r.Max < r.Min {
		return fmt.Errorf("retrying a lock: pauses from %v to %v: use positive durations, the smaller one first", r.Min, r.Max)
	}
	return nil
}

// slowFactor is how much longer than a try takes the pause after it may be.
const slowFactor = 4

// pause returns how long to wait after so many tries, the last of which took so
// long and was refused with err. Where that names the end of a lease that is
// near, nobody tries before it, and those who wait for it come one by one.
func (r Retry) pause(tries int, took time.Duration, err error) time.Duration {
	limit := r.Min
	for i := 0; i < tries && limit < r.Max; i++ {
		limit = min(2*limit, r.Max)
	}
	limit = max(limit, slowFactor*took)
	pause := r.Min + rand.N(limit-r.Min+1)
	if refused, ok := errors.AsType[*AcquireError](err); ok {
		if left := time.Until(refused.Until); left > 0 && left < r.Max {
			pause = max(pause, left+rand.N(limit))
		}
	}
	return pause
}

// because joins err with that of ctx, if it has ended and err does not say so.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(err, ctx.Err())
}

// wait sleeps, unless ctx ends first; it tells whether ctx still lasts.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
