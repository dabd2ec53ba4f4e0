package fence

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorate/quorate/locking"
)

// ErrStale is what every guard returns, as a *StaleError, for a token smaller
// than one it has seen: somebody else works on the resource by now. Stop; the
// work of this run is not wanted any more.
var ErrStale = errors.New("stale fencing token")

// A StaleError is a refused write.
type StaleError struct {
	Resource string
	// Token is the writer's, Seen the larger one that the sink knows of.
	Token, Seen locking.Token
}

// Error names the resource and both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: write to %s with token %d refused, the sink has seen %d", ErrStale, e.Resource, e.Token, e.Seen)
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

type observerKey struct{}

// WithObserver returns a context whose guards tell f of each write they refuse,
// besides whomever they tell already. F may be called from any goroutine.
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

// Refused tells the observers in ctx of e and returns it. A guard calls it once
// for each write that it refuses.
func Refused(ctx context.Context, e *StaleError) error {
	if f, ok := ctx.Value(observerKey{}).(func(*StaleError)); ok {
		f(e)
	}
	return e
}
