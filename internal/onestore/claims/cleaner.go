package claims

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
)

// longestPause bounds the pause between two tries to void a claim.
const longestPause = time.Second

// A cleaner voids claims that may have been made, or may still be made, by tries that have
// given up. Until then such a claim may block a tick that no one runs.
type cleaner struct {
	firstPause time.Duration
	timeout    time.Duration // per claim
	ctx        context.Context
	cancel     context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newCleaner(first, limit time.Duration) *cleaner {
	ctx, cancel := context.WithCancel(context.Background())
	return &cleaner{firstPause: first, timeout: limit, ctx: ctx, cancel: cancel}
}

// repeat calls f in the background until the store has answered.
func (c *cleaner) repeat(f func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
		defer cancel()
		for wait := c.firstPause; errors.Is(f(ctx), locking.ErrNoQuorum) && pause(ctx, wait); wait = min(2*wait, longestPause) {
		}
	})
}

func (c *cleaner) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
}
