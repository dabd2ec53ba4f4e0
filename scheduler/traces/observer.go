package traces

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler"
)

// Observer makes the spans of ticks.
func (t *Tracer) Observer() scheduler.Observer {
	return scheduler.Observer{
		Claimed: t.claimed, Unused: t.unused, Released: t.released, Finished: t.finished, Decided: t.decided,
		Extended: t.extended, LeaseLost: t.leaseLost, Refused: t.refused, Retried: t.retried,
	}
}

func (t *Tracer) claimed(job string, c locking.Claim, took time.Duration) {
	r := run{job, c.Token}
	_, span := t.tracer.Start(context.Background(), "tick "+job, trace.WithNewRoot(),
		trace.WithTimestamp(time.Now().Add(-took)), trace.WithAttributes(ofClaim(job, t.replica, c)...))
	t.begin(r, span)
	t.child(r, "claim", took, nil)
}

// unused ends the span of a claim that was given back: the tick has not run.
func (t *Tracer) unused(job string, c locking.Claim) {
	span := t.end(run{job, c.Token})
	span.SetStatus(codes.Error, "the claim came too late to begin the work, and was given back")
	span.End()
}

func (t *Tracer) released(job string, c locking.Claim, _, took time.Duration, err error) {
	t.child(run{job, c.Token}, "finish", took, err)
}

func (t *Tracer) finished(e scheduler.Entry, _ error) {
	span := t.end(run{e.Job, e.Token})
	span.SetAttributes(ofEntry(e)...)
	if e.Outcome != scheduler.Succeeded && e.Outcome != scheduler.Skipped {
		span.SetStatus(codes.Error, string(e.Outcome))
	}
	span.End()
}

// decided makes a span of a tick that does not run.
func (t *Tracer) decided(e scheduler.Entry) {
	_, span := t.tracer.Start(context.Background(), "tick "+e.Job, trace.WithNewRoot(),
		trace.WithAttributes(append(ofEntry(e), Job.String(e.Job), Replica.String(t.replica))...))
	if e.Outcome == scheduler.Missed {
		span.SetStatus(codes.Error, string(e.Outcome))
	}
	span.End()
}

func (t *Tracer) extended(job string, c locking.Claim, e locking.Extension) {
	name, attrs := "lease extended", []attribute.KeyValue{attribute.String("left", e.Left.String()), attribute.String("took", e.Took.String())}
	if e.Err != nil {
		name, attrs = "lease not extended", append(attrs, attribute.String("error", e.Err.Error()))
	}
	t.event(job, c, name, attrs...)
}

func (t *Tracer) leaseLost(e scheduler.Entry, cause error) {
	t.event(e.Job, locking.Claim{Token: e.Token}, "lease lost", attribute.String("cause", cause.Error()))
}

func (t *Tracer) refused(job string, c locking.Claim, stale fence.StaleError) {
	t.event(job, c, "stale write refused", attribute.String("resource", stale.Resource), attribute.Int64("seen", int64(stale.Seen)))
}

func (t *Tracer) retried(job string, c locking.Claim, try int, _ error, in time.Duration) {
	t.event(job, c, "to be tried again", Try.Int(try), attribute.String("in", in.String()))
}

func (t *Tracer) event(job string, c locking.Claim, name string, attrs ...attribute.KeyValue) {
	t.of(run{job, c.Token}).AddEvent(name, trace.WithAttributes(attrs...))
}

// skipped tells whether the function decided not to do its work.
func skipped(err error) bool {
	_, ok := errors.AsType[*jobs.SkipError](err)
	return ok
}
