// Package fence refuses writers that were paused for longer than their lease.
//
// No lease can stop a process that freezes between checking its lease and writing. Its
// fencing token can: tokens of a job only grow, so a sink that remembers the largest
// token refuses a former holder once the next one has written. Only a sink that checks
// tokens is protected.
//
// A [Bearer] has a token for a resource: a jobs.Run, a locking.Claim, or the result of
// [For]. A guard admits it, or refuses it with a [StaleError]. It admits an equal
// token, so a run may write as often as it likes.
//
// # Check and write must be one step
//
// A writer can be paused between a check and a separate write. So choose the guard that
// sits where the data is:
//
//	sqlfence    one row per resource, check and write in one transaction
//	redisfence  check and write in one script
//	httpfence   the token travels in a header; a middleware refuses stale ones
//	Gate        one writer at a time per resource, within this process
//
// Each package documents what is one step there and what is not. Package fencetest
// tests your own sinks.
//
// # What a guard cannot do
//
//   - It orders the writers of one job only. Tokens of different jobs have no order, so
//     two jobs must not write to one resource. Jobs of one name in two namespaces are two
//     jobs: give each namespace a table of its own, or its resources other names ([For]).
//   - It protects from the moment when the next holder has written. A former holder's
//     write before that is late, but in the right order.
//   - It remembers for as long as the sink does. Restoring a sink from a backup also
//     restores its tokens.
//
// # Observing refusals
//
// A guard calls [Refused], which calls the observer in the context ([WithObserver]).
// The scheduler adds an observer to the context of every run. It logs each refusal with
// both tokens and counts it in the job's ledger, whatever the function does with the
// error.
package fence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"sync"

	"github.com/quorate/quorate/locking"
)

// A Bearer has a fencing token for a resource. For a jobs.Run the resource is its job,
// for a locking.Claim the name of its lock.
type Bearer interface {
	Fence() (resource string, token locking.Token)
}

// For returns a bearer of b's token for another resource, such as a table, a bucket or
// an account. Only bearers of one job or lock may write to a resource, since tokens of
// different ones have no order.
func For(resource string, b Bearer) Bearer { return bearerFor{resource: resource, Bearer: b} }

type bearerFor struct {
	Bearer
	resource string
}

func (f bearerFor) Fence() (string, locking.Token) {
	_, token := f.Bearer.Fence()
	return f.resource, token
}

const (
	// MaxToken is the largest valid token: the largest integer that JSON and Lua keep
	// exactly.
	MaxToken locking.Token = 1<<53 - 1
	// MaxResource is the longest name of a resource, in bytes.
	MaxResource = 255
)

// ErrNoToken is what guards return for a bearer without a token, with one above
// MaxToken, or without a valid resource.
var ErrNoToken = errors.New("no usable fencing token")

// Of returns b's resource and token, or an error that is ErrNoToken. Guards must call
// it before they compare tokens: a token that is too large would block the resource for
// ever.
func Of(b Bearer) (resource string, token locking.Token, err error) {
	if b == nil {
		return "", 0, fmt.Errorf("%w: there is no bearer: pass the run, or the claim of the lease", ErrNoToken)
	}
	resource, token = b.Fence()
	switch {
	case resource == "" || len(resource) > MaxResource:
		err = fmt.Errorf("%w: a resource of %d bytes: name it with 1 to %d", ErrNoToken, len(resource), MaxResource)
	case token == 0:
		err = fmt.Errorf("%w for %s: it is 0: pass the run, or the claim of the lease", ErrNoToken, resource)
	case token > MaxToken:
		err = fmt.Errorf("%w for %s: %d is above %d", ErrNoToken, resource, token, MaxToken)
	}
	return resource, token, err
}

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

// A Gate admits writers one at a time per resource. Within this process check and write
// are then one step, so no writer can be overtaken. It does not hold up writers in
// other processes. A sink with several processes must check where the data is, as
// sqlfence and redisfence do.
type Gate struct {
	guard Guard

	mu    sync.Mutex
	locks map[string]*resourceLock
}

// A resourceLock is the right to write to a resource. The writer whose element is in the
// channel has it.
type resourceLock struct {
	taken chan struct{}
	users int // writers that have it or wait for it
}

// NewGate returns a Gate in front of the guard. If the guard is a Gate, NewGate returns
// it unchanged, so all that share one Gate take turns.
func NewGate(g Guard) *Gate {
	if gate, ok := g.(*Gate); ok {
		return gate
	}
	return &Gate{guard: g, locks: map[string]*resourceLock{}}
}

// Admit asks the guard without taking a lock. It makes a Gate a Guard: pass one Gate to
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

func (g *Gate) join(resource string) *resourceLock {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.locks[resource]
	if t == nil {
		t = &resourceLock{taken: make(chan struct{}, 1)}
		g.locks[resource] = t
	}
	t.users++
	return t
}

func (g *Gate) leave(resource string, t *resourceLock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(g.locks, resource)
	}
}

// How a token travels over HTTP. A sink refuses it with status 412 and a body of
// ProblemMedia (RFC 9457) whose type is ProblemType. httpfence implements this; a sink
// in another language needs nothing else.
const (
	HeaderToken    = "Fencing-Token"    // the token, in decimal
	HeaderResource = "Fencing-Resource" // the resource, percent-encoded

	ProblemMedia = "application/problem+json"
	ProblemType  = "https://github.com/quorate/quorate/problems/stale-fencing-token"
)

// problem is the body of a refusal.
type problem struct {
	Type     string        `json:"type"`
	Title    string        `json:"title"`
	Status   int           `json:"status"`
	Detail   string        `json:"detail"`
	Resource string        `json:"resource"`
	Token    locking.Token `json:"token"`
	Seen     locking.Token `json:"seen"`
}

// Problem returns e as the body of an HTTP response.
func (e *StaleError) Problem() []byte {
	b, _ := json.Marshal(problem{ // strings and numbers always encode
		Type: ProblemType, Title: "Stale fencing token", Status: http.StatusPreconditionFailed,
		Detail:   fmt.Sprintf("the write to %s carries token %d, and %d has written already", e.Resource, e.Token, e.Seen),
		Resource: e.Resource, Token: e.Token, Seen: e.Seen,
	})
	return b
}

// ParseProblem returns the refusal in a response to a write by b, or nil if it is none.
// A 412 may have other reasons, and a refusal of another token is not about this write.
func ParseProblem(b Bearer, status int, contentType string, body []byte) *StaleError {
	// Unreadable parts leave zero values, which never match.
	resource, token, _ := Of(b)
	media, _, _ := mime.ParseMediaType(contentType)
	var p problem
	_ = json.Unmarshal(body, &p)
	if status != http.StatusPreconditionFailed || media != ProblemMedia || p.Type != ProblemType ||
		token == 0 || p.Token != token || p.Seen <= token {
		return nil
	}
	if p.Resource != "" {
		resource = p.Resource
	}
	return &StaleError{Resource: resource, Token: token, Seen: p.Seen}
}
