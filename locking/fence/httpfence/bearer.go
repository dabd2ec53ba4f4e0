package httpfence

import (
	"context"

	"github.com/quorate/quorate/locking/fence"
)

type bearerKey struct{}

// WithBearer returns a context whose requests a Transport sends with b's token.
func WithBearer(ctx context.Context, b fence.Bearer) context.Context {
	return context.WithValue(ctx, bearerKey{}, b)
}

// BearerFrom returns the bearer in ctx: what WithBearer put there, and in a
// handler behind a Middleware what the request carried.
func BearerFrom(ctx context.Context) (b fence.Bearer, ok bool) {
	b, ok = ctx.Value(bearerKey{}).(fence.Bearer)
	return b, ok
}
