package traces

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Observe makes the spans of ticks. It is a scheduler.Observer.
func (t *Tracer) Observe(e scheduler.Event) {
	r := run{e.Entry.Job, e.Entry.Token}
	switch e.Kind {
	case scheduler.EventClaimed:
		t.claimed(r, e)
	case scheduler.EventUnused:
		t.unused(r)
	case scheduler.EventReleased:
		t.child(r, "finish", e.Took, e.Err)
	case scheduler.EventFinished:
		t.finished(r, e.Entry)
	case scheduler.EventDecided:
		t.decided(e.Entry)
	case scheduler.EventExtended:
		t.extended(r, e)
	case scheduler.EventLeaseLost:
		t.event(r, "lease lost", attribute.String("cause", e.Err.Error()))
	case scheduler.EventRefused:
		t.refused(r, e.Err)
	case scheduler.EventRetried:
		t.event(r, "to be tried again", Try.Int(e.Try), attribute.String("in", e.In.String()))
	}
}

func (t *Tracer) claimed(r run, e scheduler.Event) {
	_, span := t.tracer.Start(context.Background(), "tick "+r.job, trace.WithNewRoot(),
		trace.WithTimestamp(time.Now().Add(-e.Took)), trace.WithAttributes(ofClaim(e, t.replica)...))
	t.begin(r, span)
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

func (t *Tracer) extended(r run, e scheduler.Event) {
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
