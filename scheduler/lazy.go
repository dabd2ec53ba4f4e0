package scheduler

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A lazyContext is a context that can be ended, and is only made when somebody waits
// for its end: most attempts are over before anybody has. It ends with its
// parent, too.
type lazyContext struct {
	parent   context.Context // nil: the background
	deadline *deadline       // nil: none of its own
	made     atomic.Pointer[madeContext]
}

// A deadline is when a context ends, and the cause it then has.
type deadline struct {
	at    time.Time
	cause error
}

// A madeContext is one that can be ended.
type madeContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// within is a context that ends with parent, or with the cause after so long.
func within(parent context.Context, limit time.Duration, cause error) *lazyContext {
	return &lazyContext{parent: parent, deadline: &deadline{at: time.Now().Add(limit), cause: cause}}
}

// unused is what contexts become that nobody has waited for and nobody needs.
var unused = endedContext()

func endedContext() *madeContext {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(nil)
	return &madeContext{ctx, cancel}
}

// end ends the context for cause; nil: nobody needs it any more.
func (l *lazyContext) end(cause error) {
	if cause == nil && l.unmade() == nil && l.made.CompareAndSwap(nil, unused) {
		return
	}
	l.context().cancel(cause)
}

func (l *lazyContext) context() *madeContext {
	if made := l.made.Load(); made != nil {
		return made
	}
	made := l.make()
	if !l.made.CompareAndSwap(nil, made) { // somebody else was faster
		made.cancel(nil)
	}
	return l.made.Load()
}

func (l *lazyContext) make() *madeContext {
	ctx, cancel := context.WithCancelCause(l.above())
	if l.deadline == nil {
		return &madeContext{ctx, cancel}
	}
	timed, stop := context.WithDeadlineCause(ctx, l.deadline.at, l.deadline.cause)
	return &madeContext{timed, func(cause error) {
		cancel(cause)
		stop()
	}}
}

func (l *lazyContext) above() context.Context {
	if l.parent == nil {
		return context.Background()
	}
	return l.parent
}

// Err implements context.Context.
func (l *lazyContext) Err() error {
	if l.made.Load() == nil {
		return l.unmade()
	}
	return l.context().Err()
}

// unmade is Err of one that nobody has waited for, and nobody ended.
func (l *lazyContext) unmade() error {
	if l.over() {
		return l.context().Err()
	}
	return l.above().Err()
}

// over tells whether the deadline has passed.
func (l *lazyContext) over() bool { return l.deadline != nil && !time.Now().Before(l.deadline.at) }

// Deadline implements context.Context.
func (l *lazyContext) Deadline() (time.Time, bool) {
	at, ok := l.above().Deadline()
	if own := l.deadline; own != nil && (!ok || own.at.Before(at)) {
		return own.at, true
	}
	return at, ok
}

// Done implements context.Context.
func (l *lazyContext) Done() <-chan struct{} { return l.context().Done() }

// Value implements context.Context. As long as nothing but the parent could have
// ended it, that knows all that package context asks for.
func (l *lazyContext) Value(key any) any {
	if l.made.Load() != nil || l.over() {
		if value := l.context().Value(key); value != nil {
			return value
		}
	}
	return l.above().Value(key)
}

// A lazyHandler is made when somebody logs: most runs do not.
type lazyHandler struct {
	call *call
	once sync.Once
	made slog.Handler
}

func (h *lazyHandler) handler() slog.Handler {
	h.once.Do(func() { h.made = h.call.lineHandler() })
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
