package traces

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// scope names what makes the spans.
const scope = "github.com/quorate/quorate/scheduler/traces"

// A Tracer makes the spans of one replica. Give its Observe and its Middleware to
// the scheduler.
type Tracer struct {
	tracer  trace.Tracer
	replica string

	mu   sync.Mutex
	open map[run]trace.Span // of ticks that were claimed and have not ended
}

// run names a run of this replica.
type run struct {
	job   string
	token locking.Token
}

// New returns a Tracer whose spans go to the provider. Hand it to a replica, or Begin it.
func New(provider trace.TracerProvider) *Tracer {
	return &Tracer{tracer: provider.Tracer(scope), open: map[run]trace.Span{}}
}

// Begin says whose spans these are. It is called once, before anything is observed.
func (t *Tracer) Begin(replica string) { t.replica = replica }

// begin opens the span of a tick.
func (t *Tracer) begin(r run, span trace.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[r] = span
}

// of returns the span of the tick that is run, one that does nothing if there is
// none.
func (t *Tracer) of(r run) trace.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	if span, ok := t.open[r]; ok {
		return span
	}
	return trace.SpanFromContext(context.Background())
}

// end returns the span of the tick, which the caller ends, and forgets it.
func (t *Tracer) end(r run) trace.Span {
	span := t.of(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, r)
	return span
}

// child makes a span beneath that of the tick which took so long and ends now.
func (t *Tracer) child(r run, name string, took time.Duration, err error) {
	now := time.Now()
	_, span := t.tracer.Start(trace.ContextWithSpan(context.Background(), t.of(r)), name, trace.WithTimestamp(now.Add(-took)))
	fail(span, err)
	span.End(trace.WithTimestamp(now))
}

// Middleware makes a span of each call, and hands it to the function in its
// context.
func (t *Tracer) Middleware(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, r jobs.Run) (err error) {
		ctx = trace.ContextWithSpan(ctx, t.of(run{r.Job, r.Token}))
		ctx, span := t.tracer.Start(ctx, "run", trace.WithAttributes(ofRun(r)...))
		defer span.End() // also when the function ends its goroutine
		err = next(ctx, r)
		fail(span, err)
		return err
	}
}

// fail marks a span as failed, if err is a failure.
func fail(span trace.Span, err error) {
	if err != nil && !skipped(err) {
		span.SetStatus(codes.Error, err.Error())
	}
}
