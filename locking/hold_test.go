package locking_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/quorate/quorate/locking"
)

const (
	ttl    = 15 * time.Second
	every  = 5 * time.Second
	margin = 1500 * time.Millisecond
)

// fakeLease is a lease whose extensions are the test's.
type fakeLease struct {
	locking.Lease // no other method is called

	mu       sync.Mutex
	start    time.Time
	deadline time.Time
	extended []time.Duration // when, since start
	extend   func(ctx context.Context, n int) error
}

func newFakeLease(extend func(ctx context.Context, n int) error) *fakeLease {
	now := time.Now()
	return &fakeLease{start: now, deadline: now.Add(ttl), extend: extend}
}

func (l *fakeLease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// LastPoll has one round for each extension.
func (l *fakeLease) LastPoll() locking.Poll {
	l.mu.Lock()
	defer l.mu.Unlock()
	return locking.Poll{Rounds: uint8(len(l.extended))}
}

func (l *fakeLease) Extend(ctx context.Context) error {
	l.mu.Lock()
	l.extended = append(l.extended, time.Since(l.start))
	n := len(l.extended)
	l.mu.Unlock()
	if err := l.extend(ctx, n); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = time.Now().Add(ttl)
	return nil
}

func always(context.Context, int) error { return nil }

func hang(ctx context.Context, _ int) error {
	<-ctx.Done()
	return ctx.Err()
}

func hold(ctx context.Context, l locking.Lease, work func(context.Context) error) error {
	return holdWith(ctx, l, locking.KeepConfig{Every: every, Margin: margin}, work)
}

func holdWith(ctx context.Context, l locking.Tenure, cfg locking.KeepConfig, work func(context.Context) error) error {
	k := locking.Keep(ctx, l, cfg)
	defer k.Stop()
	return k.Do(work)
}

// untilCancelled is work that minds its context; it returns when and why that
// ended.
func untilCancelled(start time.Time, at *time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		*at = time.Since(start)
		return context.Cause(ctx)
	}
}

func TestHoldExtendsWhileWorkGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, failed := newFakeLease(always), errors.New("work failed")
		err := hold(t.Context(), l, func(ctx context.Context) error {
			time.Sleep(3*ttl + time.Second)
			if ctx.Err() != nil {
				t.Errorf("context ended: %v", context.Cause(ctx))
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("Hold = %v, want what work returned", err)
		}
		want := []time.Duration{5e9, 10e9, 15e9, 20e9, 25e9, 30e9, 35e9, 40e9, 45e9}
		if !slices.Equal(l.extended, want) {
			t.Errorf("extended at %v, want %v", l.extended, want)
		}
		time.Sleep(ttl)
		if len(l.extended) != len(want) {
			t.Errorf("extended %d times after Hold returned", len(l.extended)-len(want))
		}
	})
}

// A bubble ends only when all its goroutines have, so each test here also shows
// that Hold leaves none behind.
func TestHoldEndsWorkBeforeTheLease(t *testing.T) {
	t.Parallel()
	unreachable := errors.New("no quorum")
	for name, tt := range map[string]struct {
		extend func(ctx context.Context, n int) error
		end    time.Duration
	}{
		"extensions hang":             {hang, ttl - margin},
		"extensions fail":             {func(context.Context, int) error { return unreachable }, ttl - margin},
		"extensions stop after three": {func(_ context.Context, n int) error { return okFirst(n, 3, unreachable) }, 3*every + ttl - margin},
		"one extension fails":         {func(_ context.Context, n int) error { return failOnly(n, 2, unreachable) }, time.Minute},
		"another has the lock":        {func(_ context.Context, n int) error { return okFirst(n, 1, locking.ErrLeaseLost) }, 2 * every},
		"an answer comes too late": {func(_ context.Context, n int) error {
			time.Sleep(ttl - every - margin + time.Millisecond) // whatever ctx says
			return nil
		}, ttl - margin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var at time.Duration
				l := newFakeLease(tt.extend)
				err := hold(ctx, l, untilCancelled(l.start, &at))
				want := locking.ErrLeaseLost
				if tt.end == time.Minute {
					want = context.DeadlineExceeded // never lost
				}
				if at != tt.end || !errors.Is(err, want) {
					t.Errorf("work ended after %v with %v, want %v after %v", at, err, want, tt.end)
				}
			})
		})
	}
}

func okFirst(n, ok int, err error) error {
	if n <= ok {
		return nil
	}
	return err
}

func failOnly(n, fails int, err error) error {
	if n != fails {
		return nil
	}
	return err
}

func TestHoldPassesTheCallersCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		draining := errors.New("draining")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(draining) })
		var at time.Duration
		l := newFakeLease(always)
		err := hold(ctx, l, untilCancelled(l.start, &at))
		if !errors.Is(err, draining) || at != 2*time.Second {
			t.Errorf("work ended after %v with %v, want %v after 2s", at, err, draining)
		}
	})
}

// Work that does not mind its context stays protected: by the caller's end, and
// after a lost deadline too, in case the nodes can still be reached.
func TestHoldKeepsExtendingForDeafWork(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		extend    func(ctx context.Context, n int) error
		cancelled bool
		want      int
	}{
		"caller's context ends": {always, true, 11},
		"deadline passes":       {func(_ context.Context, n int) error { return failFirst(n, 8) }, false, 17},
		"lease is lost": {func(_ context.Context, n int) error {
			return okFirst(n, 2, locking.ErrLeaseLost)
		}, false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancelled {
					cancel()
				}
				l := newFakeLease(tt.extend)
				err := hold(ctx, l, func(ctx context.Context) error {
					time.Sleep(time.Minute - time.Second)
					return context.Cause(ctx)
				})
				if err == nil {
					t.Error("the context of work never ended")
				}
				if len(l.extended) != tt.want {
					t.Errorf("extended at %v, want %d times", l.extended, tt.want)
				}
			})
		})
	}
}

func failFirst(n, fails int) error {
	if n > fails {
		return nil
	}
	return errors.New("no quorum")
}

func TestHoldTellsOfExtensions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type call struct {
			deadline, left, took time.Duration
			failed               bool
			polled               int
		}
		var got []call
		const slow = 100 * time.Millisecond
		l := newFakeLease(func(_ context.Context, n int) error {
			time.Sleep(slow)
			return okFirst(n, 2, locking.ErrLeaseLost)
		})
		cfg := locking.KeepConfig{Every: every, Margin: margin, Extended: func(e locking.Extension) {
			got = append(got, call{e.Deadline.Sub(l.start), e.Left, e.Took, e.Err != nil, int(e.Poll.Rounds)})
		}}
		var at time.Duration
		_ = holdWith(t.Context(), l, cfg, untilCancelled(l.start, &at))
		want := []call{
			{every + slow + ttl, ttl - every, slow, false, 1},
			{2*every + slow + ttl, ttl - every + slow, slow, false, 2},
			{2*every + slow + ttl, ttl - every + slow, slow, true, 3},
		}
		if !slices.Equal(got, want) {
			t.Errorf("told of %v, want %v", got, want)
		}
	})
}

func TestHoldBoundsOneExtension(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var took []time.Duration
		l := newFakeLease(func(ctx context.Context, n int) error {
			begun := time.Now()
			err := hang(ctx, n)
			took = append(took, time.Since(begun))
			return err
		})
		cfg := locking.KeepConfig{Every: every, Margin: margin, Try: 3 * time.Second}
		var at time.Duration
		err := holdWith(t.Context(), l, cfg, untilCancelled(l.start, &at))
		// The last one is cut off by the end of work.
		if len(took) != 3 || took[0] != 3e9 || took[1] != 3e9 || took[2] >= 3e9 || !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("extensions took %v (%v), want 3s, twice, and less", took, err)
		}
	})
}

func TestHoldDoesNotBeginTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newFakeLease(always)
		time.Sleep(ttl - margin)
		err := hold(t.Context(), l, func(context.Context) error {
			t.Error("work began within the margin")
			return nil
		})
		if !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Hold = %v, want ErrLeaseLost", err)
		}
	})
}

// A clock cannot be set in a test. A deadline that comes nearer while the timer
// runs looks the same to Hold as a wall clock that jumped ahead.
func TestHoldNoticesThatTheClockJumped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newFakeLease(hang)
		time.AfterFunc(3*time.Second, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.deadline = l.start
		})
		var at time.Duration
		err := hold(t.Context(), l, untilCancelled(l.start, &at))
		if !errors.Is(err, locking.ErrLeaseLost) || at > 3*time.Second+margin/2 {
			t.Errorf("work ended after %v with %v, want ErrLeaseLost soon after 3s", at, err)
		}
	})
}

func TestHoldRefusesToNeverExtend(t *testing.T) {
	t.Parallel()
	err := holdWith(t.Context(), newFakeLease(always), locking.KeepConfig{Every: -1}, func(context.Context) error {
		t.Error("work began")
		return nil
	})
	if err == nil {
		t.Error("Hold without Every = nil, want an error")
	}
}

func TestHoldCleansUpAfterPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newFakeLease(always)
		defer func() {
			if recover() == nil {
				t.Error("the panic of work was swallowed")
			}
			time.Sleep(2 * every)
			if len(l.extended) > 0 {
				t.Error("the lease was extended after work had panicked")
			}
		}()
		_ = hold(t.Context(), l, func(context.Context) error { panic("broken work") })
	})
}

// suspended returns t as a machine would read its clocks that slept for d, whole
// seconds: the wall clock has moved, the monotonic clock has not. No function
// of package time makes such a value, so it is put together by hand: a Time
// with a monotonic reading begins with a word that counts wall seconds from
// bit 30 up.
func suspended(t time.Time, d time.Duration) time.Time {
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << 30
	return t
}

func TestSuspended(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, d := range []time.Duration{10 * time.Second, -time.Hour} {
		then := suspended(now, d)
		if mono, wall := then.Sub(now), then.Round(0).Sub(now.Round(0)); mono != 0 || wall != d {
			t.Errorf("suspended moves the monotonic clock by %v and the wall clock by %v, want 0 and %v", mono, wall, d)
		}
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	now := time.Now()
	// wall is t with the wall clock moved by d and the monotonic clock left.
	wall := func(t time.Time, d time.Duration) time.Time { return t.Round(0).Add(d) }
	for name, tt := range map[string]struct {
		now, deadline time.Time
		want          bool
	}{
		"before":                      {now, now.Add(time.Nanosecond), false},
		"at":                          {now, now, true},
		"after":                       {now, now.Add(-time.Nanosecond), true},
		"before, by the wall clock":   {wall(now, 0), wall(now, time.Second), false},
		"after, by the wall clock":    {wall(now, 0), wall(now, -time.Second), true},
		"woken after the deadline":    {suspended(now, 10*time.Second), now.Add(ttl / 3), true},
		"woken before the deadline":   {suspended(now, 10*time.Second), now.Add(ttl), false},
		"after, clock set back":       {suspended(now.Add(2*time.Second), -time.Hour), now.Add(time.Second), true},
		"clock set back, still valid": {suspended(now, -time.Hour), now.Add(time.Second), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := locking.Expired(tt.now, tt.deadline); got != tt.want {
				t.Errorf("Expired(%v, %v) = %v, want %v", tt.now, tt.deadline, got, tt.want)
			}
		})
	}
}
