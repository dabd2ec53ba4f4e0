package fence

import (
	"context"
	"sync"

	"github.com/quorate/quorate/locking"
)

// A Guard remembers the largest token of each resource.
type Guard interface {
	// Admit remembers b's token, or refuses it with a *StaleError if it has
	// seen a larger one of the resource, having told Refused. Any other error
	// means that it could not judge, and that b must not write.
	//
	// Admit alone does not make check and write one step; see Gate, and the
	// guards of this package's subfolders.
	Admit(ctx context.Context, b Bearer) error
}

// Memory is a Guard that lives as long as its process. It keeps a number per
// resource for ever.
type Memory struct {
	mu   sync.Mutex
	seen map[string]locking.Token
}

// NewMemory returns a Memory that has seen nothing.
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

// raise returns the largest token seen of the resource, this one included.
func (m *Memory) raise(resource string, token locking.Token) locking.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[resource] = max(m.seen[resource], token)
	return m.seen[resource]
}
