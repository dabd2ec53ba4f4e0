package attempt

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An ending is the result of the calls of the function under one claim.
type ending struct {
	err   error         // of the last call
	cause error         // why the context of the run, or of the last call, had ended
	calls int           // of the function
	why   ledger.Reason // why there was no further call, although the policy allowed it
}

// calls calls the function until its policy is satisfied.
func (x *execution) calls() {
	j, ctx := x.run.assignment.Job, x.keeper.Context()
	if j.Timeout > 0 {
		timed, stop := context.WithTimeoutCause(ctx, j.Timeout, jobs.ErrTimeout)
		defer stop()
		ctx = timed
	}
	for x.end.calls = 1; ; x.end.calls++ {
		c := x.newCall(x.spent + x.end.calls)
		c.do(ctx)
		if x.settle() {
			return
		}
		if x.end.err == nil && x.end.cause != nil {
			x.end.err = errNil
		}
		if !j.Retries(x.spent+x.end.calls, x.end.err) {
			return
		}
		if x.end.why = x.backOff(ctx, c.told, x.end.err); !x.end.why.IsZero() {
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
	in := x.run.assignment.Job.RetryPause(failed.Call, x.attempt.random)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= in {
		return ledger.Reason{Code: ledger.CodeNoRetry}
	}
	draining := x.run.deps.stops.Claims
	if draining.Err() != nil {
		return ledger.Reason{Code: ledger.CodeNoRetry, Variant: ledger.VariantDrain}
	}
	failed.Logger.Warn("call failed, calling again", slog.String("error", errorText(err)), slog.Duration("in", in))
	x.run.notify(event.Event{Kind: event.Retried, Call: failed.Call, Err: err, In: in})
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

// A call is one call of the function under a claim. The function may ignore that its
// context has ended.
type call struct {
	execution *execution
	told      jobs.Run        // what the function learns about its run
	ctx       context.Context // of the function; set before it is called
	returned  chan struct{}   // closed when the function has
}

// newCall prepares a call.
func (x *execution) newCall(number int) *call {
	r := x.run
	tick, j, replica := &r.assignment.Tick, r.assignment.Job, r.deps.cfg.Replica
	told := jobs.Run{
		ID: tick.Entry(j, replica).ID(), Job: j.Name, Key: j.RenamedFrom(), Tick: tick.Nominal,
		Token: r.Claim.Token, Attempt: r.Claim.Attempt, Call: number,
		Trigger: string(r.Trigger), Parent: tick.Parent(), Replica: replica, Spec: j.Spec,
	}
	told.Logger = slog.New(r.log.handler(r.deps.cfg.Logger.With(
		slog.String("run", told.ID), slog.String("job", told.Job),
		slog.String("tick", jobs.FormatTick(told.Tick)), slog.Uint64("token", uint64(told.Token)),
		slog.Int("attempt", told.Attempt), slog.Int("try", told.Call),
		slog.String("trigger", told.Trigger), slog.String("replica", told.Replica))))
	return &call{execution: x, told: told, returned: make(chan struct{})}
}

// do calls the function. It sets the execution's end.err to its error, and end.cause to why
// the context of this call had ended by then. The function usually runs in the attempt's
// goroutine: if it ends that, only the attempt's deferred calls still run. A function that
// may be called again gets a goroutine for each call.
func (c *call) do(ctx context.Context) {
	x, r := c.execution, c.execution.run
	retry := r.assignment.Job.Retry
	if retry.AttemptTimeout > 0 {
		timed, stop := context.WithTimeoutCause(ctx, retry.AttemptTimeout, errCallTimeout)
		defer stop()
		ctx = timed
	}
	schema, _ := r.database()
	c.ctx = jobs.WithPrevious(finishtx.With(fence.WithObserver(ctx, c.refuse), c.prepareFinish, schema), r.previous)
	var watcher sync.WaitGroup
	watcher.Go(c.watchOverdue)
	defer func() {
		x.end.cause = x.cause(c.ctx) // at once: what the watcher stores may take longer
		close(c.returned)
		watcher.Wait()
		x.notifyLost(x.end.cause)
	}()
	if retry.Attempts > 1 {
		x.end.err = jobs.Call(c.ctx, r.handler(), c.told)
		return
	}
	jobs.Do(c.ctx, r.handler(), c.told, &x.end.err)
}

// errCallTimeout is the cause when the context of one call times out.
var errCallTimeout error = callTimeout{}

type callTimeout struct{}

func (callTimeout) Error() string { return "timeout of one call of the job reached" }

// Is makes it match the timeout of the whole run, which functions know.
func (callTimeout) Is(target error) bool { return target == jobs.ErrTimeout }

// handler is the job's function with its params and those of the request, and with all
// middleware. If the params do not fit, the run fails.
func (r *Run) handler() jobs.Handler {
	h := r.assignment.Job.Handler
	if command := r.assignment.Tick.Command; command != nil && len(command.Params) > 0 {
		bound, err := r.assignment.Job.BindParams(command.Params)
		if h = bound; err != nil {
			err = jobs.Permanent(fmt.Errorf("the params of the request: %w", err))
			h = func(context.Context, jobs.Run) error { return err }
		}
	}
	for _, m := range slices.Backward(r.deps.cfg.Middleware) {
		h = m(h)
	}
	return h
}

// watchOverdue reports the function if it has not returned SafetyMargin after its context
// ended.
func (c *call) watchOverdue() {
	if c.storeUntilEnd() {
		return
	}
	x, r := c.execution, c.execution.run
	x.notifyLost(x.cause(c.ctx))
	since := r.deps.engine.Now()
	timer := time.NewTimer(r.deps.cfg.SafetyMargin)
	defer timer.Stop()
	select {
	case <-c.returned:
		return
	case <-timer.C:
	}
	r.notify(event.Event{Kind: event.Overdue, Since: since})
	x.attempt.loop.Report(Progress{Phase: Overdue, Since: since})
	<-c.returned
	x.attempt.loop.Report(Progress{Phase: Overdue}) // it may be called again
}

// storeUntilEnd stores what the function logs until its context ends or the function
// returns. It reports whether the function has returned.
func (c *call) storeUntilEnd() (returned bool) {
	r := c.execution.run
	var store <-chan time.Time
	if r.deps.cfg.Archive != nil {
		every := time.NewTicker(logEvery)
		defer every.Stop()
		store = every.C
	}
	for stored := 0; ; {
		select {
		case <-c.ctx.Done():
			return false
		case <-c.returned:
			return true
		case <-store:
			stored = r.storeLog(c.ctx, stored)
		}
	}
}

// previous reads how the job's earlier runs ended.
func (r *Run) previous(ctx context.Context) (jobs.Previous, error) {
	var before jobs.Previous
	last, err := r.lastRun(ctx, ledger.Succeeded, ledger.Failed, ledger.TimedOut, ledger.LeaseLost, ledger.Interrupted, ledger.Cancelled, ledger.Skipped)
	if err != nil || last == nil {
		return before, err
	}
	before.Outcome = string(last.Outcome)
	if last.Outcome != ledger.Succeeded {
		if last, err = r.lastRun(ctx, ledger.Succeeded); err != nil {
			return jobs.Previous{}, err
		}
	}
	if last != nil {
		before.Success, before.Ended = last.Tick, last.Finished
	}
	return before, nil
}

// lastRun returns the last run before this one with such an outcome; nil if there is none.
func (r *Run) lastRun(ctx context.Context, outcomes ...ledger.Outcome) (*ledger.Entry, error) {
	list, err := r.deps.cfg.Ledger.Runs(ctx, ledger.Query{
		Job: r.assignment.Job.StoredAs(), Limit: 1, Outcomes: outcomes, Before: r.assignment.Tick.Entry(r.assignment.Job, r.deps.cfg.Replica).OrderKey(),
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// refusals counts the writes of a run that guards refused as stale.
type refusals struct {
	mu    sync.Mutex
	count int
	last  fence.StaleError // the one with the largest token seen
}

// refuse handles a refusal, whatever the function does with its error.
func (c *call) refuse(e *fence.StaleError) {
	c.execution.refused.add(*e)
	c.told.Logger.Warn("stale write refused", slog.String("resource", e.Resource), slog.Uint64("seen", uint64(e.Seen)))
	c.execution.run.notify(event.Event{Kind: event.Refused, Err: e})
}

func (r *refusals) add(e fence.StaleError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count++; e.Seen >= r.last.Seen {
		r.last = e
	}
}

// account returns how many writes were refused, and reason with that added.
func (r *refusals) account(job string, reason ledger.Reason) (int, ledger.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		return 0, reason
	}
	sink := r.last.Resource
	if sink == job {
		sink = "the sink"
	}
	return r.count, reason.And(ledger.Reason{Code: ledger.CodeStaleWrites, Details: &ledger.Details{N: r.count, Token: r.last.Token, Of: sink, Seen: r.last.Seen}})
}
