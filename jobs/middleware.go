package jobs

import (
	"context"
	"log/slog"
	"slices"
)

// A Middleware returns a Handler that wraps next, for example to measure, trace or refuse
// calls. Params are already bound, and next returns a panic of the function as a
// *PanicError. Secrets of the params are hidden in the errors it sees, but not in its own
// logs.
type Middleware func(next Handler) Handler

// Use puts middleware around every function of the registry, those registered
// before included. The first one is outermost, also over several calls, and all
// of them are outside of those given to Register. A nil one is a mistake, kept
// for Err.
func (r *Registry) Use(middleware ...Middleware) {
	if slices.ContainsFunc(middleware, func(m Middleware) bool { return m == nil }) {
		r.mistakes = append(r.mistakes, errNilMiddleware)
		return
	}
	r.around = append(r.around, middleware...)
}

// wrap returns h inside of the middleware, the first one outermost.
func wrap(h Handler, middleware []Middleware) Handler {
	if len(middleware) == 0 {
		return h
	}
	for _, m := range slices.Backward(middleware) {
		h = m(h)
	}
	return func(ctx context.Context, run Run) error {
		if run.Logger == nil {
			run.Logger = slog.New(slog.DiscardHandler)
		}
		return h(ctx, run)
	}
}
