package fencetest

import (
	"errors"
	"testing"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// bench is a sink under test.
type bench struct {
	testing.TB
	sink Sink
}

// with returns a bearer of the token.
func with(resource string, token locking.Token) fence.Bearer {
	return locking.Claim{Name: resource, Token: token}
}

// accepted writes, which must succeed.
func (b *bench) accepted(resource string, token locking.Token, value string) {
	b.Helper()
	if err := b.sink.Write(b.Context(), with(resource, token), value); err != nil {
		b.Errorf("writing %q to %s with token %d: %v", value, resource, token, err)
	}
	b.has(resource, value)
}

// refused writes to a sink that has seen the given token, and wants a refusal.
func (b *bench) refused(resource string, token, seen locking.Token) {
	b.Helper()
	err := b.sink.Write(b.Context(), with(resource, token), "stale")
	if err == nil {
		b.Errorf("token %d may write to %s, which has seen %d", token, resource, seen)
		return
	}
	stale, ok := errors.AsType[*fence.StaleError](err)
	want := fence.StaleError{Resource: resource, Token: token, Seen: seen}
	if !errors.Is(err, fence.ErrStale) || !ok || *stale != want {
		b.Errorf("token %d is refused with %q (%T); want a *fence.StaleError that is ErrStale and names %s, %d and %d",
			token, err, err, resource, token, seen)
	}
}

// has checks the last stored value.
func (b *bench) has(resource, value string) {
	b.Helper()
	got, err := b.sink.Read(b.Context(), resource)
	if err != nil || got != value {
		b.Errorf("%s holds %q (error %v), want %q", resource, got, err, value)
	}
}
