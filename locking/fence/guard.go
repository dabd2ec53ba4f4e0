package fence

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/quorate/quorate/locking"
)

// A Guard remembers the largest token of each resource.
type Guard interface {
	// Admit remembers b's token, or refuses it with a *StaleError, after calling
	// Refused, if it has seen a larger one. After any other error the guard could not
	// decide, and b must not write.
	//
	// Admit alone does not make check and write one step; see Gate, and the guards in
	// the packages below this one.
	Admit(ctx context.Context, b Bearer) error
}

// Memory is a Guard that lasts as long as its process. It keeps one number per resource
// forever.
type Memory struct {
	mu   sync.Mutex
	seen map[string]locking.Token
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{seen: map[string]locking.Token{}} }

// Admit remembers b's token or refuses it.
func (m *Memory) Admit(ctx context.Context, b Bearer) error {
	resource, token, err := Of(b)
	if err != nil {
		return err
	}
	if seen := m.raise(resource, token); seen > token {
		return Refused(ctx, &StaleError{Resource: resource, Token: token, Seen: seen})
	}
	return nil
}

// raise returns the largest token seen of the resource, including this one.
func (m *Memory) raise(resource string, token locking.Token) locking.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[resource] = max(m.seen[resource], token)
	return m.seen[resource]
}

// ErrStale is what every guard returns, as a *StaleError, for a token smaller than one
// it has seen. Another holder works on the resource, so stop: this run is no longer
// wanted.
var ErrStale = errors.New("stale fencing token")

// A StaleError is a refused write.
type StaleError struct {
	Resource string
	// Token is the writer's. Seen is the larger one that the sink has seen.
	Token, Seen locking.Token
}

// Error names the resource and both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: write to %s with token %d refused, the sink has seen %d", ErrStale, e.Resource, e.Token, e.Seen)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

type observerKey struct{}

// WithObserver returns a context whose guards call f for each write they refuse, after
// which any observer already in ctx is called. F may be called from any goroutine.
func WithObserver(ctx context.Context, f func(*StaleError)) context.Context {
	if outer, ok := ctx.Value(observerKey{}).(func(*StaleError)); ok {
		inner := f
		f = func(e *StaleError) {
			inner(e)
			outer(e)
		}
	}
	return context.WithValue(ctx, observerKey{}, f)
}

// Refused calls the observers in ctx with e and returns e. A guard calls it once for
// each write that it refuses.
func Refused(ctx context.Context, e *StaleError) error {
	if f, ok := ctx.Value(observerKey{}).(func(*StaleError)); ok {
		f(e)
	}
	return e
}
