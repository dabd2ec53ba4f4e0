package fence

import (
	"context"
	"fmt"
	"sync"
)

// A Gate admits writers one at a time per resource. Within this process check and write
// are then one step, so no writer can be overtaken. It does not hold up writers in
// other processes. A sink with several processes must check where the data is, as
// sqlfence and redisfence do.
type Gate struct {
	guard Guard

	mu    sync.Mutex
	turns map[string]*turn
}

// A turn is the right to write to a resource. The writer whose element is in the
// channel has it.
type turn struct {
	taken chan struct{}
	users int // writers that have it or wait for it
}

// NewGate returns a Gate in front of the guard. If the guard is a Gate, NewGate returns
// it unchanged, so all that share one Gate take turns.
func NewGate(g Guard) *Gate {
	if gate, ok := g.(*Gate); ok {
		return gate
	}
	return &Gate{guard: g, turns: map[string]*turn{}}
}

// Admit asks the guard without taking a turn. It makes a Gate a Guard: pass one Gate to
// all that write to the same resources in one process.
func (g *Gate) Admit(ctx context.Context, b Bearer) error { return g.guard.Admit(ctx, b) }

// Do waits until no other writer is active, asks the guard, and calls write. It returns
// the guard's refusal, the error of write, or that of ctx if it ended while waiting. A
// write that hangs blocks the next ones, even those with larger tokens: bound it.
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
