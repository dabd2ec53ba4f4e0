package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// A call is one of the function, under a claim. It may ignore that its context has
// ended.
type call struct {
	*execution
	run      jobs.Run
	ctx      context.Context
	returned chan struct{} // closed when it has
}

// describe prepares the given call, and says what the function learns of its run.
func (x *execution) describe(try int) *call {
	claim, c := x.claim, &call{execution: x, returned: make(chan struct{})}
	c.run = jobs.Run{
		ID: x.tick.entry(x.job, x.cfg.Replica).ID(), Job: x.job.Name, Key: x.job.renamedFrom(), Tick: x.tick.nominal,
		Token: claim.Token, Attempt: claim.Attempt, Try: try,
		Trigger: string(x.trigger()), Parent: x.tick.parent(), Replica: x.cfg.Replica,
	}
	c.run.Logger = c.logger()
	return c
}

// do calls the function and sets end.err to its error, and end.cause to why the
// context of this call had ended by then, if it had. As a rule the function runs in
// the attempt's goroutine: if it ends that, only what the attempt has deferred goes
// on. One that may be called again gets a goroutine of its own for each call.
func (c *call) do(ctx context.Context, end *ending) {
	if limit := c.job.Retry.AttemptTimeout; limit > 0 {
		timed, stop := context.WithTimeoutCause(ctx, limit, errTryTimeout)
		defer stop()
		ctx = timed
	}
	c.ctx = jobs.WithPrevious(fence.WithObserver(ctx, c.refuse), c.previous)
	var attending sync.WaitGroup
	attending.Go(c.attend)
	defer func() {
		close(c.returned)
		attending.Wait()
		end.cause = c.cause(c.ctx)
		c.tellLost(end.cause)
	}()
	if c.job.Retry.Attempts > 1 {
		end.err = jobs.Call(c.ctx, c.handler(), c.run)
		return
	}
	jobs.Do(c.ctx, c.handler(), c.run, &end.err)
}

// attend reports the function if it has not returned SafetyMargin after its context ended.
func (c *call) attend() {
	if c.goesOn() {
		return
	}
	c.tellLost(c.cause(c.ctx))
	since := c.clock.wall()
	timer := time.NewTimer(c.cfg.SafetyMargin)
	defer timer.Stop()
	select {
	case <-c.returned:
		return
	case <-timer.C:
	}
	c.tell(Event{Kind: EventOverdue, Since: since})
	c.report(progress{phase: overdue, since: since})
	<-c.returned
	c.report(progress{phase: overdue}) // it may be called again
}

// goesOn stores what the function logs until its context ends, or it has returned,
// and tells whether it has.
func (c *call) goesOn() (returned bool) {
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
