package redlock

import (
	"context"
	"sync"
	"time"
)

// longestPause bounds the pause between two tries to clean up at a node.
const longestPause = time.Second

// A cleaner removes what ended tries may have left on nodes that did not answer. Until
// then such a node may block a lock for a TTL, or a tick for a claim that no one runs.
// That costs a vote but never causes a wrong one, so the cleaner may stop at any time.
type cleaner struct {
	firstPause time.Duration // pause before the first repetition
	timeout    time.Duration // per try
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

// cleanUp repeats the last query of a try in the background, at nodes with leftovers. No
// request of it may be in flight.
func (c *cleaner) cleanUp(r *requests) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
		defer cancel()
		for wait := c.firstPause; pause(ctx, wait) && r.cleanOnce(ctx); wait = min(2*wait, longestPause) {
		}
	})
}

// cleanOnce sends the query once to nodes with leftovers, and reports whether any remain.
func (r *requests) cleanOnce(ctx context.Context) bool {
	fan := r.l.set.NewFan()
	var wg sync.WaitGroup
	for i := range r.nodes {
		if r.stateAt(i).left {
			wg.Add(1)
			r.send(ctx, fan, i, r.cleanup, waitVote{&wg})
		}
	}
	wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.anyLeft()
}

// waitVote counts the vote in a WaitGroup.
type waitVote struct{ *sync.WaitGroup }

func (waitVote) retries(int, vote) bool { return false }

func (c waitVote) add(int, vote) { c.Done() }

// pause waits until d is over or ctx ends, and reports whether d is over.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (c *cleaner) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
}

// A counter counts requests in flight.
type counter struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0; nil without a waiter
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	if c.n == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// wait returns when n is 0.
func (c *counter) wait() {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.none == nil {
		c.none = make(chan struct{})
	}
	none := c.none
	c.mu.Unlock()
	<-none
}
