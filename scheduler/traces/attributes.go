package traces

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

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

// ofClaim describes the span of a tick that was won.
func ofClaim(e scheduler.Event, replica string) []attribute.KeyValue {
	return []attribute.KeyValue{
		Job.String(e.Entry.Job), Run.String(e.Run), Token.Int64(int64(e.Entry.Token)), Attempt.Int(e.Entry.Attempt), Replica.String(replica),
	}
}

// ofRun describes the span of one call.
func ofRun(run jobs.Run) []attribute.KeyValue {
	return []attribute.KeyValue{
		Job.String(run.Job), Tick.String(jobs.FormatTick(run.Tick)), Token.Int64(int64(run.Token)), Attempt.Int(run.Attempt),
		Try.Int(run.Try), Run.String(run.ID), Trigger.String(run.Trigger), Replica.String(run.Replica),
	}
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
