package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/quorate/quorate/jobs"
)

// An ending is how the calls of the function under one claim ended.
type ending struct {
	err   error  // of the last call
	cause error  // why the context of the run, or of the last call, had ended
	tries int    // calls there were
	why   Reason // there was no further one, though the policy had allowed it
}

// calls calls the function until it need not, or must not, be called again. What
// end says holds at any time, since the function may end the goroutine.
func (a *attempt) calls(end *ending) {
	ctx := &a.runs
	if a.job.Timeout > 0 {
		ctx = within(ctx, a.job.Timeout, jobs.ErrTimeout)
		defer ctx.end(nil)
	}
	a.takeOver()
	for end.tries = 1; ; end.tries++ {
		c := a.describe(a.spent + end.tries)
		c.do(ctx, end)
		if !a.job.Retry.allows(a.spent+end.tries, end.err) {
			return
		}
		if end.why = a.rest(ctx, c.run, end.err); !end.why.IsZero() {
			return
		}
		if ctx.Err() != nil {
			end.cause = a.cause(ctx)
			return
		}
	}
}

// rest waits for the next call of the function, unless ctx ends before. It
// returns why there will be none for another reason, at once: a run that waits
// for nothing would keep others out.
func (a *attempt) rest(ctx context.Context, failed jobs.Run, err error) (why Reason) {
	if ctx.Err() != nil {
		return Reason{}
	}
	a.keepOn()
	in := a.job.Retry.pause(failed.Try, func(limit time.Duration) time.Duration {
		return a.cfg.Random(a.job.Name, a.tick.at, limit)
	})
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= in {
		return Reason{Code: CodeNoRetry}
	}
	draining := a.stops.claims
	if draining.Err() != nil {
		return Reason{Code: CodeNoRetry, Variant: VariantDrain}
	}
	failed.Logger.Warn("try failed, trying again", slog.String("error", errorText(err)), slog.Duration("in", in))
	a.cfg.Observer.Retried(a.job.Name, a.claim(), failed.Try, err, in)
	timer := time.NewTimer(in)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-draining.Done():
	}
	if ctx.Err() == nil && draining.Err() != nil {
		return Reason{Code: CodeNoRetry, Variant: VariantDrain}
	}
	return Reason{}
}
