// Package traces makes OpenTelemetry spans of a replica's runs. It uses the API only: the
// TracerProvider of the program that embeds the replica decides which spans are kept, and
// where they go.
//
//	tick nightly-report            from the first message of the claim to the end of its record
//	├── claim                      the nodes are asked
//	├── run                        one per call of the function; its context carries this span
//	│   └── … spans of the function
//	└── finish                     the end is recorded, the lease given back
//
// The span of the tick has an event for each extension of the lease, for its loss, for each
// write refused as stale, and for each call that is repeated. A tick that does not run is a
// span without length, at each replica that decided so.
//
// What a run sends to other processes continues its trace: requests of the job "http", commands of "exec"
// (TRACEPARENT) and webhooks. Lines of the run's logger have trace_id and span_id.
//
// The constants below are the attributes, beside those that OpenTelemetry has names for: faas.trigger,
// faas.cron and error.type. A run that did not succeed has the status Error,
// with the error of the function, in which secrets of params are masked.
package traces

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// scope is the name of the instrumentation.
const scope = "github.com/quorate/quorate/scheduler/traces"

// A Tracer makes the spans of one replica. Pass its Observe and its Middleware to the
// scheduler.
type Tracer struct {
	tracer  trace.Tracer
	replica string

	mu   sync.Mutex
	open map[run]trace.Span // of claimed ticks that have not ended
}

// run names a run of this replica.
type run struct {
	job   string
	token locking.Token
}

// New returns a Tracer whose spans go to the provider. Pass it to a replica, or call Begin.
func New(provider trace.TracerProvider) *Tracer {
	return &Tracer{tracer: provider.Tracer(scope), open: map[run]trace.Span{}}
}

// Begin sets the ID of the replica. It is called once, before Observe.
func (t *Tracer) Begin(replica string) { t.replica = replica }

// of returns the span of a run's tick; without one, a span that does nothing.
func (t *Tracer) of(r run) trace.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	if span, ok := t.open[r]; ok {
		return span
	}
	return trace.SpanFromContext(context.Background())
}

// end returns the span of a run's tick, which the caller ends, and drops it from the open ones.
func (t *Tracer) end(r run) trace.Span {
	span := t.of(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, r)
	return span
}

// child makes a span below that of the run's tick, which took so long and ends now.
func (t *Tracer) child(r run, name string, took time.Duration, err error) {
	now := time.Now()
	_, span := t.tracer.Start(trace.ContextWithSpan(context.Background(), t.of(r)), name, trace.WithTimestamp(now.Add(-took)))
	fail(span, err)
	span.End(trace.WithTimestamp(now))
}

// Middleware makes a span of each call, and passes it to the function in its context, its Run and its logger.
func (t *Tracer) Middleware(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, r jobs.Run) (err error) {
		ctx = trace.ContextWithSpan(ctx, t.of(run{r.Job, r.Token}))
		ctx, span := t.tracer.Start(ctx, "run", trace.WithAttributes(ofRun(r)...))
		defer span.End() // also when the function ends its goroutine
		r.Traceparent, r.Tracestate = carried(ctx)
		if own := span.SpanContext(); own.IsValid() && r.Logger != nil {
			r.Logger = r.Logger.With(slog.String("trace_id", own.TraceID().String()), slog.String("span_id", own.SpanID().String()))
		}
		err = next(ctx, r)
		fail(span, err)
		return err
	}
}

// Carried is the trace context of the tick of an event, as the headers traceparent and tracestate carry it;
// empty if the tick has no span now.
func (t *Tracer) Carried(e event.Event) (traceparent, tracestate string) {
	return carried(trace.ContextWithSpan(context.Background(), t.of(run{e.Entry.Job, e.Entry.Token})))
}

func carried(ctx context.Context) (traceparent, tracestate string) {
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, headers)
	return headers["traceparent"], headers["tracestate"]
}

// fail marks a span as failed, unless err is nil or the function skipped its work.
func fail(span trace.Span, err error) {
	if err != nil && !skipped(err) {
		span.SetStatus(codes.Error, err.Error())
	}
}

// Observe makes the spans of ticks. It is an event.Observer.
func (t *Tracer) Observe(e event.Event) {
	r := run{e.Entry.Job, e.Entry.Token}
	switch e.Kind {
	case event.Claimed:
		t.claimed(r, e)
	case event.Unused:
		t.unused(r)
	case event.Released:
		t.child(r, "finish", e.Took, e.Err)
	case event.Finished:
		t.finished(r, e.Entry)
	case event.Decided:
		t.decided(e.Entry)
	case event.Extended:
		t.extended(r, e)
	case event.LeaseLost:
		t.event(r, "lease lost", attribute.String("cause", e.Err.Error()))
	case event.Refused:
		t.refused(r, e.Err)
	case event.Retried:
		t.event(r, "to be tried again", Try.Int(e.Call), attribute.String("in", e.In.String()))
	}
}

func (t *Tracer) claimed(r run, e event.Event) {
	_, span := t.tracer.Start(context.Background(), "tick "+r.job, trace.WithNewRoot(),
		trace.WithTimestamp(time.Now().Add(-e.Took)), trace.WithAttributes(ofClaim(e, t.replica)...))
	t.mu.Lock()
	t.open[r] = span
	t.mu.Unlock()
	t.child(r, "claim", e.Took, nil)
}

// unused ends the span of a claim that was given back: the tick has not run.
func (t *Tracer) unused(r run) {
	span := t.end(r)
	span.SetStatus(codes.Error, "the claim came too late to begin the work, and was given back")
	span.End()
}

func (t *Tracer) finished(r run, e ledger.Entry) {
	span := t.end(r)
	span.SetAttributes(ofEntry(e)...)
	if e.Outcome != ledger.Succeeded && e.Outcome != ledger.Skipped {
		span.SetStatus(codes.Error, string(e.Outcome))
		span.SetAttributes(errorType.String(string(e.Outcome)))
	}
	span.End()
}

// decided makes a span of a tick that does not run.
func (t *Tracer) decided(e ledger.Entry) {
	_, span := t.tracer.Start(context.Background(), "tick "+e.Job, trace.WithNewRoot(),
		trace.WithAttributes(append(ofEntry(e), Job.String(e.Job), Replica.String(t.replica))...))
	if e.Outcome == ledger.Missed {
		span.SetStatus(codes.Error, string(e.Outcome))
	}
	span.End()
}

func (t *Tracer) extended(r run, e event.Event) {
	name, attrs := "lease extended", []attribute.KeyValue{attribute.String("left", e.Left.String()), attribute.String("took", e.Took.String())}
	if e.Err != nil {
		name, attrs = "lease not extended", append(attrs, attribute.String("error", e.Err.Error()))
	}
	t.event(r, name, attrs...)
}

func (t *Tracer) refused(r run, err error) {
	if stale, ok := errors.AsType[*fence.StaleError](err); ok {
		t.event(r, "stale write refused", attribute.String("resource", stale.Resource), attribute.Int64("seen", int64(stale.Seen)))
	}
}

func (t *Tracer) event(r run, name string, attrs ...attribute.KeyValue) {
	t.of(r).AddEvent(name, trace.WithAttributes(attrs...))
}

// skipped reports whether the function decided not to do its work.
func skipped(err error) bool {
	_, ok := errors.AsType[*jobs.SkipError](err)
	return ok
}

// Attributes of spans.
const (
	Job     = attribute.Key("quorate.job")
	Tick    = attribute.Key("quorate.tick") // nominal; RFC 3339, UTC
	Token   = attribute.Key("quorate.token")
	Attempt = attribute.Key("quorate.attempt") // of the claim
	Try     = attribute.Key("quorate.try")     // of the function, within the claim
	Run     = attribute.Key("quorate.run")     // its id, as in the ledger
	Trigger = attribute.Key("quorate.trigger")
	Replica = attribute.Key("quorate.replica")
	Outcome = attribute.Key("quorate.outcome")
	Reason  = attribute.Key("quorate.reason") // in words
	Code    = attribute.Key("quorate.reason_code")
)

// Those of the semantic conventions of OpenTelemetry.
const (
	faasTrigger = attribute.Key("faas.trigger")
	faasCron    = attribute.Key("faas.cron")
	errorType   = attribute.Key("error.type") // the outcome
)

// ofClaim describes the span of a tick that was won.
func ofClaim(e event.Event, replica string) []attribute.KeyValue {
	return []attribute.KeyValue{
		Job.String(e.Entry.Job), Run.String(e.Run), Token.Int64(int64(e.Entry.Token)), Attempt.Int(e.Entry.Attempt), Replica.String(replica),
	}
}

// ofRun describes the span of one call.
func ofRun(run jobs.Run) []attribute.KeyValue {
	trigger := "other"
	if run.Trigger == string(ledger.BySchedule) || run.Trigger == string(ledger.ByCatchUp) || run.Trigger == string(ledger.ByRerun) {
		trigger = "timer"
	}
	list := []attribute.KeyValue{
		faasTrigger.String(trigger), Job.String(run.Job), Tick.String(jobs.FormatTick(run.Tick)), Token.Int64(int64(run.Token)), Attempt.Int(run.Attempt),
		Try.Int(run.Call), Run.String(run.ID), Trigger.String(run.Trigger), Replica.String(run.Replica),
	}
	if run.Spec != "" {
		list = append(list, faasCron.String(run.Spec))
	}
	return list
}

// ofEntry returns the attributes of a tick at its end.
func ofEntry(e ledger.Entry) []attribute.KeyValue {
	list := []attribute.KeyValue{
		Tick.String(jobs.FormatTick(e.Tick)), Trigger.String(string(e.Trigger)), Outcome.String(string(e.Outcome)),
	}
	if !e.Reason.IsZero() {
		list = append(list, Reason.String(e.Reason.String()), Code.String(string(e.Reason.Code)))
	}
	return list
}
