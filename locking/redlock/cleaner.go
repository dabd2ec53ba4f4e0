package redlock

import (
	"context"
	"sync"
)

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
