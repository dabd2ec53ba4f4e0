package attempt

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// A call is one call of the function under a claim. The function may ignore that its
// context has ended.
type call struct {
	*execution
	run      jobs.Run
	ctx      context.Context
	returned chan struct{} // closed when the function has
}

// newCall prepares a call, and what the function learns about its run.
func (x *execution) newCall(try int) *call {
	claim, c := x.Claim, &call{execution: x, returned: make(chan struct{})}
	c.run = jobs.Run{
		ID: x.Tick.Entry(x.Job, x.cfg.Replica).ID(), Job: x.Job.Name, Key: x.Job.RenamedFrom(), Tick: x.Tick.Nominal,
		Token: claim.Token, Attempt: claim.Attempt, Try: try,
		Trigger: string(x.Trigger), Parent: x.Tick.Parent(), Replica: x.cfg.Replica,
	}
	c.run.Logger = c.logger()
	return c
}

// do calls the function. It sets end.err to its error, and end.cause to why the context of
// this call had ended by then. The function usually runs in the attempt's goroutine: if it
// ends that, only the attempt's deferred calls still run. A function that may be called
// again gets a goroutine for each call.
func (c *call) do(ctx context.Context) {
	if limit := c.Job.Retry.AttemptTimeout; limit > 0 {
		timed, stop := context.WithTimeoutCause(ctx, limit, errTryTimeout)
		defer stop()
		ctx = timed
	}
	schema, _ := c.database()
	c.ctx = jobs.WithPrevious(finishtx.With(fence.WithObserver(ctx, c.refuse), c.prepareFinish, schema), c.previous)
	var watcher sync.WaitGroup
	watcher.Go(c.watchOverdue)
	defer func() {
		c.end.cause = c.cause(c.ctx) // at once: what the watcher stores may take longer
		close(c.returned)
		watcher.Wait()
		c.notifyLost(c.end.cause)
	}()
	if c.Job.Retry.Attempts > 1 {
		c.end.err = jobs.Call(c.ctx, c.handler(), c.run)
		return
	}
	jobs.Do(c.ctx, c.handler(), c.run, &c.end.err)
}

// watchOverdue reports the function if it has not returned SafetyMargin after its context
// ended.
func (c *call) watchOverdue() {
	if c.storeUntilEnd() {
		return
	}
	c.notifyLost(c.cause(c.ctx))
	since := c.Now()
	timer := time.NewTimer(c.cfg.SafetyMargin)
	defer timer.Stop()
	select {
	case <-c.returned:
		return
	case <-timer.C:
	}
	c.notify(event.Event{Kind: event.Overdue, Since: since})
	c.loop.Report(Progress{Phase: Overdue, Since: since})
	<-c.returned
	c.loop.Report(Progress{Phase: Overdue}) // it may be called again
}

// storeUntilEnd stores what the function logs until its context ends or the function
// returns. It reports whether the function has returned.
func (c *call) storeUntilEnd() (returned bool) {
	var store <-chan time.Time
	if c.cfg.Archive != nil {
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
			stored = c.storeLog(c.ctx, stored)
		}
	}
}

// handler is the job's function with all middleware.
func (t *task) handler() jobs.Handler {
	h := t.bound()
	for _, m := range slices.Backward(t.cfg.Middleware) {
		h = m(h)
	}
	return h
}

// bound is the job's function with its params and those of the request. If they do not fit,
// the run fails.
func (b *Brief) bound() jobs.Handler {
	if b.Tick.Act == nil || len(b.Tick.Act.Params) == 0 {
		return b.Job.Handler
	}
	bound, err := job.BindParams(b.Job.Requests, b.Tick.Act.Params)
	if err != nil {
		err = jobs.Permanent(fmt.Errorf("the params of the request: %w", err))
		return func(context.Context, jobs.Run) error { return err }
	}
	return bound
}
