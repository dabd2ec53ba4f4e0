package redlock

import (
	"context"
	"sync"
	"time"
)

// longestPause is between two tries to clean up at a node that does not answer.
const longestPause = time.Second

// A cleaner takes back what attempts that were given up may have left on nodes
// that did not answer. Until it has, such a node may keep the lock for a TTL or
// the tick for a claim that nobody runs: a vote less, never a wrong one. So it
// may stop at any time.
type cleaner struct {
	first  time.Duration // pause
	limit  time.Duration // per attempt
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newCleaner(first, limit time.Duration) *cleaner {
	ctx, cancel := context.WithCancel(context.Background())
	return &cleaner{first: first, limit: limit, ctx: ctx, cancel: cancel}
}

// cleanUp repeats rule in the background at the nodes that hold, or may come to
// hold, something of a. Nobody else may use a any more.
func (c *cleaner) cleanUp(a *attempt, rule func(ctx context.Context, node int) vote) {
	if !a.anyLeft() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.limit)
		defer cancel()
		c.repeat(ctx, a, rule)
	})
}

func (c *cleaner) repeat(ctx context.Context, a *attempt, rule func(ctx context.Context, node int) vote) {
	for wait := c.first; a.anyLeft(); wait = min(2*wait, longestPause) {
		if !pause(ctx, wait) {
			return
		}
		a.each(func(node int) bool { return a.left[node] }, func(node int) { rule(ctx, node) })
	}
}

func (c *cleaner) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
}
