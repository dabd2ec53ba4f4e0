package attempt

import (
	"context"
	"log/slog"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An ending is the result of the calls of the function under one claim.
type ending struct {
	err   error         // of the last call
	cause error         // why the context of the run, or of the last call, had ended
	tries int           // number of calls
	why   ledger.Reason // why there was no further call, although the policy allowed it
}

// calls calls the function until its policy is satisfied. x.end is valid at any time, since
// the function may end the goroutine.
func (x *execution) calls() {
	ctx := x.keeper.Context()
	if x.Job.Timeout > 0 {
		timed, stop := context.WithTimeoutCause(ctx, x.Job.Timeout, jobs.ErrTimeout)
		defer stop()
		ctx = timed
	}
	for x.end.tries = 1; ; x.end.tries++ {
		c := x.newCall(x.spent + x.end.tries)
		c.do(ctx)
		if x.settle() {
			return
		}
		if x.end.err == nil && x.end.cause != nil {
			x.end.err = errNil
		}
		if !x.Job.Retries(x.spent+x.end.tries, x.end.err) {
			return
		}
		if x.end.why = x.backOff(ctx, c.run, x.end.err); !x.end.why.IsZero() {
			return
		}
		if ctx.Err() != nil {
			x.end.cause = x.cause(ctx)
			return
		}
	}
}

// backOff waits for the next call of the function, unless ctx ends before. It returns at
// once why there will be none for another reason: a waiting run blocks others.
func (x *execution) backOff(ctx context.Context, failed jobs.Run, err error) (why ledger.Reason) {
	if ctx.Err() != nil {
		return ledger.Reason{}
	}
	in := x.Job.RetryPause(failed.Try, x.random)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= in {
		return ledger.Reason{Code: ledger.CodeNoRetry}
	}
	draining := x.stops.Claims
	if draining.Err() != nil {
		return ledger.Reason{Code: ledger.CodeNoRetry, Variant: ledger.VariantDrain}
	}
	failed.Logger.Warn("try failed, trying again", slog.String("error", errorText(err)), slog.Duration("in", in))
	x.notify(event.Event{Kind: event.Retried, Try: failed.Try, Err: err, In: in})
	timer := time.NewTimer(in)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-draining.Done():
	}
	if ctx.Err() == nil && draining.Err() != nil {
		return ledger.Reason{Code: ledger.CodeNoRetry, Variant: ledger.VariantDrain}
	}
	return ledger.Reason{}
}
