package locking_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
)

func TestKeeperKeepsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newFakeLease(always)
		k := locking.Keep(t.Context(), l, locking.KeepConfig{Every: every, Margin: margin})
		time.Sleep(3*ttl + time.Second)
		if err := k.Context().Err(); err != nil {
			t.Errorf("context ended: %v", context.Cause(k.Context()))
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(k.Stop)
		}
		wg.Wait()
		if cause := context.Cause(k.Context()); !errors.Is(cause, context.Canceled) {
			t.Errorf("context ended with %v, want %v", cause, context.Canceled)
		}
		time.Sleep(ttl)
		if len(l.extended) != 9 {
			t.Errorf("extended %d times, want 9", len(l.extended))
		}
		k.Stop()
	})
}

// Stop waits for an extension under way, so a later release is not overtaken by it.
func TestStopWaitsForAnExtension(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var under atomic.Bool
		l := newFakeLease(func(context.Context, int) error {
			under.Store(true)
			time.Sleep(time.Second) // whatever its context says
			under.Store(false)
			return nil
		})
		k := locking.Keep(t.Context(), l, locking.KeepConfig{Every: every, Margin: margin})
		time.Sleep(every + time.Millisecond)
		if !under.Load() {
			t.Fatal("no extension is under way")
		}
		k.Stop()
		if under.Load() {
			t.Error("Stop returned while an extension was under way")
			time.Sleep(2 * time.Second)
		}
	})
}

func TestKeepTellsTheCause(t *testing.T) {
	t.Parallel()
	draining := errors.New("draining")
	evicted := &locking.EvictedError{Reason: "it hangs"}
	for name, tt := range map[string]struct {
		extend func(ctx context.Context, n int) error
		caller error
		cfg    locking.KeepConfig
		want   error
	}{
		"nodes gone":     {hang, nil, locking.KeepConfig{Every: every, Margin: margin}, locking.ErrLeaseLost},
		"caller":         {always, draining, locking.KeepConfig{Every: every, Margin: margin}, draining},
		"operator":       {func(context.Context, int) error { return evicted }, nil, locking.KeepConfig{Every: every, Margin: margin}, evicted},
		"held too long":  {always, nil, locking.KeepConfig{Every: every, Margin: margin, MaxHold: time.Minute}, locking.ErrMaxHold},
		"without pauses": {always, nil, locking.KeepConfig{Every: -1}, nil},
		"without room":   {always, nil, locking.KeepConfig{Every: every, Margin: margin, MaxHold: margin}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tt.caller != nil {
					time.AfterFunc(time.Second, func() { cancel(tt.caller) })
				}
				k := locking.Keep(ctx, newFakeLease(tt.extend), tt.cfg)
				defer k.Stop()
				<-k.Context().Done()
				cause := context.Cause(k.Context())
				if tt.want != nil && !errors.Is(cause, tt.want) {
					t.Errorf("context ended with %v, want %v", cause, tt.want)
				}
				if tt.want == nil && !strings.HasPrefix(cause.Error(), "holding a lease: ") {
					t.Errorf("context ended with %v, want what is wrong with the config", cause)
				}
				if lost := tt.want != nil && tt.caller == nil; errors.Is(cause, locking.ErrLeaseLost) != lost {
					t.Errorf("%v matches ErrLeaseLost: %t, want %t", cause, !lost, lost)
				}
			})
		})
	}
}

// The lease is never extended beyond MaxHold, whether the work minds its
// context or not, and the work ends a margin before the lease then does.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	unreachable := errors.New("no quorum")
	for name, tt := range map[string]struct {
		maxHold  time.Duration
		extend   func(ctx context.Context, n int) error
		extended []time.Duration
		end      time.Duration // of the work
		cause    error
	}{
		// The last extension lasts until a margin before 40 s.
		"reached": {40 * time.Second, always, []time.Duration{5e9, 10e9, 15e9, 20e9, 23.5e9}, 37 * time.Second, locking.ErrMaxHold},
		"the last extension falls on a tick": {
			ttl + margin + 10*time.Second, always, []time.Duration{5e9, 10e9}, 10*time.Second + ttl - margin, locking.ErrMaxHold,
		},
		"the last extension fails": {40 * time.Second, func(_ context.Context, n int) error {
			return failOnly(n, 5, unreachable)
		}, []time.Duration{5e9, 10e9, 15e9, 20e9, 23.5e9}, 20*time.Second + ttl - margin, locking.ErrLeaseLost},
		"lost before": {40 * time.Second, func(_ context.Context, n int) error {
			return okFirst(n, 1, locking.ErrLeaseLost)
		}, []time.Duration{5e9, 10e9}, 10 * time.Second, locking.ErrLeaseLost},
		"no longer than the lease":    {10 * time.Second, always, nil, 10*time.Second - margin, locking.ErrMaxHold},
		"too little for an extension": {ttl - time.Millisecond, always, nil, ttl - time.Millisecond - margin, locking.ErrMaxHold},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newFakeLease(tt.extend)
				cfg := locking.KeepConfig{Every: every, Margin: margin, MaxHold: tt.maxHold}
				var at time.Duration
				err := holdWith(t.Context(), l, cfg, func(ctx context.Context) error {
					err := untilCancelled(l.start, &at)(ctx)
					time.Sleep(time.Minute) // deaf from here on
					return err
				})
				if at != tt.end || !errors.Is(err, tt.cause) || errors.Is(err, locking.ErrMaxHold) != errors.Is(tt.cause, locking.ErrMaxHold) {
					t.Errorf("work ended after %v with %v, want %v after %v", at, err, tt.cause, tt.end)
				}
				if !slices.Equal(l.extended, tt.extended) {
					t.Errorf("extended at %v, want %v", l.extended, tt.extended)
				}
				if over := l.deadline.Sub(l.start) - tt.maxHold; over > 0 && len(tt.extended) > 0 {
					t.Errorf("the lease was extended %v beyond the cap", over)
				}
			})
		})
	}
}

// An extension that is delayed beyond the cap is not made.
func TestMaxHoldAfterAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newFakeLease(func(_ context.Context, n int) error {
			if n == 4 { // at 20 s, whatever its context says
				time.Sleep(12 * time.Second)
				return errors.New("no quorum")
			}
			return nil
		})
		cfg := locking.KeepConfig{Every: every, Margin: margin, MaxHold: 40 * time.Second}
		var at time.Duration
		err := holdWith(t.Context(), l, cfg, func(ctx context.Context) error {
			err := untilCancelled(l.start, &at)(ctx)
			time.Sleep(time.Minute)
			return err
		})
		if len(l.extended) != 4 || at != 15*time.Second+ttl-margin || !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("extended at %v, and work ended after %v with %v", l.extended, at, err)
		}
	})
}

// until is a right to work with a fixed end.
type until time.Time

func (u until) Deadline() time.Time        { return time.Time(u) }
func (until) Extend(context.Context) error { return nil }

func TestLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, d := range []time.Duration{0, time.Millisecond, time.Hour} {
			if got := locking.Left(until(now.Add(d))); got != d {
				t.Errorf("Left of a lease of %v = %v", d, got)
			}
		}
		if got := locking.Left(until(now.Add(-time.Second))); got != 0 {
			t.Errorf("Left of a lease that has ended = %v, want 0", got)
		}
	})
}

// The clock with less time left counts. If the deadline's wall clock reads d more than its
// monotonic clock, the machine's clock was set back by d; if less, the machine was
// suspended.
func TestLeftByBothClocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ moved, most time.Duration }{
		{10 * time.Hour, time.Hour}, {-50 * time.Minute, 10 * time.Minute}, {-2 * time.Hour, 0},
	} {
		got := locking.Left(until(suspended(time.Now().Add(time.Hour), tt.moved)))
		if got > tt.most || got < tt.most-time.Minute {
			t.Errorf("with the wall clock %v apart Left = %v, want at most %v", tt.moved, got, tt.most)
		}
	}
}

// A lease that slow nodes granted late is extended as early as one that was granted at
// once: Every after it began, not after it was known.
func TestKeepCountsFromTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newFakeLease(always)
		time.Sleep(700 * time.Millisecond)
		k := locking.Keep(t.Context(), l, locking.KeepConfig{Every: every, Margin: margin, TTL: ttl})
		time.Sleep(10 * time.Second)
		k.Stop()
		if want := []time.Duration{5e9, 10e9}; !slices.Equal(l.extended, want) {
			t.Errorf("extended at %v, want %v", l.extended, want)
		}
	})
}

// What kept a lease from being extended may pass at any time before it ends.
func TestFailedExtensionIsRepeatedSoon(t *testing.T) {
	t.Parallel()
	for _, why := range []error{locking.ErrNoQuorum, locking.ErrRefused} {
		synctest.Test(t, func(t *testing.T) {
			const from, to = every - time.Second, ttl - margin - every/4
			begun := time.Now()
			l := newFakeLease(func(context.Context, int) error {
				if at := time.Since(begun); at > from && at < to {
					return why
				}
				return nil
			})
			var failed int
			k := locking.Keep(t.Context(), l, locking.KeepConfig{Every: every, Margin: margin, Extended: func(e locking.Extension) {
				if e.Err != nil {
					failed++
				}
			}})
			time.Sleep(3 * ttl)
			if err := context.Cause(k.Context()); err != nil {
				t.Errorf("%v from %v to %v: the work ended: %v", why, from, to, err)
			}
			k.Stop()
			if most := int((to-from)/(every/4)) + 1; failed > most {
				t.Errorf("%d failed tries, want at most %d", failed, most)
			}
		})
	}
}
