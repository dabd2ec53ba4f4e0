package fence

import (
	"context"
	"fmt"
	"sync"
)

// A Gate lets writers past a guard one at a time per resource, so that within
// this process check and write are one step: none is checked while another
// writes, and so none can be overtaken. Writers in other processes are not kept
// waiting, whatever the guard; sinks with several processes check where the
// data is, as sqlfence and redisfence do.
type Gate struct {
	guard Guard

	mu    sync.Mutex
	turns map[string]*turn
}

// A turn is the right to write to a resource: whoever has put the element into
// the channel has it.
type turn struct {
	taken chan struct{}
	users int // who have it or wait for it
}

// NewGate returns a Gate before the guard. A guard that is a Gate already is
// returned as it is, so everything that is given one Gate takes turns.
func NewGate(g Guard) *Gate {
	if gate, ok := g.(*Gate); ok {
		return gate
	}
	return &Gate{guard: g, turns: map[string]*turn{}}
}

// Admit asks the guard without taking a turn, which makes a Gate a Guard: hand
// one to all that write to the same resources in one process.
func (g *Gate) Admit(ctx context.Context, b Bearer) error { return g.guard.Admit(ctx, b) }

// Do waits until nobody else writes to the resource, asks the guard, and calls
// write. It returns the guard's refusal, what write returns, or, if ctx ended
// while it waited, that error. A write that hangs keeps the next ones waiting,
// those with larger tokens too: bound it.
func (g *Gate) Do(ctx context.Context, b Bearer, write func() error) error {
	resource, _, err := Of(b)
	if err != nil {
		return err
	}
	t := g.join(resource)
	defer g.leave(resource, t)
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for another write to %s: %w", resource, ctx.Err())
	}
	defer func() { <-t.taken }()
	if err := g.guard.Admit(ctx, b); err != nil {
		return err
	}
	return write()
}

func (g *Gate) join(resource string) *turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.turns[resource]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		g.turns[resource] = t
	}
	t.users++
	return t
}

func (g *Gate) leave(resource string, t *turn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(g.turns, resource)
	}
}
