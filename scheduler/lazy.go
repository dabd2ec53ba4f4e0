package scheduler

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A lazyContext is a context that can be ended, and is only made when somebody waits
// for its end: most attempts are over before anybody has. It ends with its
// parent, too.
type lazyContext struct {
	parent context.Context // nil: the background

	mu     sync.Mutex
	made   context.Context
	cancel context.CancelCauseFunc
	ended  bool // before it was made
	cause  error
}

// end ends the context for cause; nil: nobody needs it any more.
func (l *lazyContext) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.made != nil:
		l.cancel(cause)
	case !l.ended:
		l.ended, l.cause = true, cause
	}
}

// base is what a context may be derived from that become is then called with.
func (l *lazyContext) base() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil {
		return l.made
	}
	return l.above()
}

// become makes ctx the context, which cancel ends, unless it has been made before.
func (l *lazyContext) become(ctx context.Context, cancel context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil {
		return // ctx is derived from it
	}
	l.made, l.cancel = ctx, cancel
	if l.ended {
		l.cancel(l.cause)
	}
}

func (l *lazyContext) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made, l.cancel = context.WithCancelCause(l.above())
		if l.ended {
			l.cancel(l.cause)
		}
	}
	return l.made
}

// Err implements context.Context.
func (l *lazyContext) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.made != nil:
		return l.made.Err()
	case l.ended:
		return context.Canceled
	}
	return l.above().Err()
}

func (l *lazyContext) above() context.Context {
	if l.parent == nil {
		return context.Background()
	}
	return l.parent
}

// Deadline implements context.Context.
func (l *lazyContext) Deadline() (time.Time, bool) { return l.above().Deadline() }

// Done implements context.Context.
func (l *lazyContext) Done() <-chan struct{} { return l.context().Done() }

// Value implements context.Context.
func (l *lazyContext) Value(key any) any { return l.context().Value(key) }

// A lazyHandler is made when somebody logs: most runs do not.
type lazyHandler struct {
	attempt *attempt
	id      string
	try     int

	once sync.Once
	made slog.Handler
}

func (h *lazyHandler) handler() slog.Handler {
	h.once.Do(func() { h.made = h.attempt.logger(h.id, h.try) })
	return h.made
}

func (h *lazyHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.handler().Enabled(ctx, level)
}

func (h *lazyHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.handler().Handle(ctx, r)
}

func (h *lazyHandler) WithAttrs(attrs []slog.Attr) slog.Handler { return h.handler().WithAttrs(attrs) }

func (h *lazyHandler) WithGroup(name string) slog.Handler { return h.handler().WithGroup(name) }
