package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

var _ locking.Watcher = (*Memory)(nil)

// Watch implements [locking.Watcher]. Of one node, one Look tells all.
func (m *Memory) Watch(req locking.Request, _ uint64) locking.Watch {
	return memoryWatch{m: m, req: req}
}

// memoryWatch looks at a tick in a Memory.
type memoryWatch struct {
	m   *Memory
	req locking.Request
}

// Look says what TryAcquire would, but of a tick that a later one closed: that
// is for TryAcquire to tell.
func (w memoryWatch) Look(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	err := w.m.state(w.req.Name).refuses(w.req, time.Now())
	if errors.Is(err, locking.ErrSuperseded) {
		return nil
	}
	return err
}
