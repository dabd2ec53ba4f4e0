package scheduler

import (
	"context"
	"sync"
	"time"
)

// deadlineStep is how much later than asked for a shared context may end.
const deadlineStep = 100 * time.Millisecond

// deadlines are contexts with a deadline, shared by whoever asks for about the
// same one: what was claimed together is released together.
type deadlines struct {
	mu     sync.Mutex
	at     time.Time
	ctx    context.Context
	cancel context.CancelFunc // of the last one; all end by themselves, or with their parent
}

// until returns a context that ends with parent, always the same one, or at the
// instant, at most deadlineStep later.
func (d *deadlines) until(parent context.Context, at time.Time) context.Context {
	at = at.Round(0).Truncate(deadlineStep).Add(deadlineStep)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !at.Equal(d.at) {
		d.ctx, d.cancel = context.WithDeadline(parent, at)
		d.at = at
	}
	return d.ctx
}
