// Package retry repeats what may fail: after a pause, or in the background, until a context ends.
package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// LongestPause bounds a pause that doubles with each try.
const LongestPause = time.Second

// Sleep waits for d, and reports whether ctx still lasts.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// CapBefore is the pause before the next try of what is useless after the deadline: d, or less
// if that is near, so that a last try comes shortly before it.
func CapBefore(deadline time.Time, d time.Duration) time.Duration {
	return min(d, max(time.Until(deadline)/2, lastPause))
}

// lastPause is the shortest pause before a deadline.
const lastPause = 20 * time.Millisecond

// Ended adds the end of ctx to an error, if it has ended: the error matches both, and says so once.
func Ended(ctx context.Context, err error) error {
	end := ctx.Err()
	switch {
	case end == nil, errors.Is(err, end):
		return err
	case strings.Contains(err.Error(), end.Error()):
		return ended{err, end}
	}
	return fmt.Errorf("%w: %w", err, end)
}

// ended is an error whose text has the end of a context.
type ended struct {
	error
	end error
}

func (e ended) Unwrap() []error { return []error{e.error, e.end} }

// A Background repeats calls that have failed, until they succeed or it is closed.
type Background struct {
	firstPause time.Duration
	limit      time.Duration // of all repetitions of a call
	ctx        context.Context
	cancel     context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// NewBackground returns a Background with the pause before the first repetition of a call,
// and a limit for all its repetitions.
func NewBackground(firstPause, limit time.Duration) *Background {
	ctx, cancel := context.WithCancel(context.Background())
	return &Background{firstPause: firstPause, limit: limit, ctx: ctx, cancel: cancel}
}

// Repeat calls f after a pause, again and again while it returns true.
func (b *Background) Repeat(f func(context.Context) (again bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.wg.Go(func() {
		ctx, cancel := context.WithTimeout(b.ctx, b.limit)
		defer cancel()
		for pause := b.firstPause; Sleep(ctx, pause) && f(ctx); pause = min(2*pause, LongestPause) {
		}
	})
}

// Close ends all repetitions, and waits for calls in flight.
func (b *Background) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.wg.Wait()
}
