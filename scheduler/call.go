package scheduler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// A call is one of the function, under a claim. It may ignore that its context has
// ended; only one that lasts gets a goroutine that watches for that.
type call struct {
	*attempt
	run    jobs.Run
	logger slog.Logger // of run
	log    lazyHandler // of logger
	ctx    context.Context

	stage    atomic.Uint32
	arrived  chan struct{} // closed when a call that lasts has returned
	attended chan struct{} // closed when nobody watches it any more
}

// The stages of a call.
const (
	quick   uint32 = iota // as far as is known
	lasting               // it is watched
	gone                  // it has returned without that
)

// describe prepares the given call, and says what the function learns of its run.
func (a *attempt) describe(try int) *call {
	claim, c := a.claim(), &a.initial
	if try > 1 {
		c = new(call)
	}
	c.attempt, c.log.call = a, c
	c.logger = *slog.New(&c.log)
	c.run = jobs.Run{
		ID: a.tick.entry(a.job, a.cfg.Replica).ID(), Job: a.job.Name, Key: a.job.renamedFrom(), Tick: a.tick.nominal,
		Token: claim.Token, Attempt: claim.Attempt, Try: try,
		Trigger: string(a.trigger()), Parent: a.tick.parent(), Replica: a.cfg.Replica,
		Logger: &c.logger,
	}
	return c
}

// do calls the function and sets end.err to its error, and end.cause to why the
// context of this call had ended by then, if it had. As a rule the function runs in
// the attempt's goroutine: if it ends that, only what the attempt has deferred goes
// on. One that may be called again gets a goroutine of its own for each call.
func (c *call) do(ctx context.Context, end *ending) {
	if limit := c.job.Retry.AttemptTimeout; limit > 0 {
		timed := within(ctx, limit, errTryTimeout)
		defer timed.end(nil)
		ctx = timed
	}
	c.ctx = fence.WithObserver(ctx, c.refuse)
	c.watch.begin(c)
	defer func() {
		c.arrive()
		end.cause = c.cause(c.ctx)
		c.tellLost(end.cause)
	}()
	if c.job.Retry.Attempts > 1 {
		end.err = jobs.Call(c.ctx, c.handler(), c.run)
		return
	}
	jobs.Do(c.ctx, c.handler(), c.run, &end.err)
}

// arrive says that the function has returned.
func (c *call) arrive() {
	if !c.stage.CompareAndSwap(quick, gone) {
		close(c.arrived)
		<-c.attended
	}
}

// last says that the call takes its time, if it is not over.
func (c *call) last() {
	if c.stage.Load() != quick {
		return
	}
	c.arrived, c.attended = make(chan struct{}), make(chan struct{})
	if c.stage.CompareAndSwap(quick, lasting) {
		go c.attend() // arrive waits for it
	}
}

// attend keeps the lease, and reports the function if it has not returned
// SafetyMargin after its context ended.
func (c *call) attend() {
	defer close(c.attended)
	c.keepOn()
	if c.goesOn() {
		return
	}
	c.tellLost(c.cause(c.ctx))
	since := c.clock.wall()
	timer := time.NewTimer(c.cfg.SafetyMargin)
	defer timer.Stop()
	select {
	case <-c.arrived:
		return
	case <-timer.C:
	}
	c.cfg.Observer.Overdue(c.job.Name, c.claim(), since)
	c.report(progress{attempt: c.attempt, phase: overdue, since: since})
	<-c.arrived
	c.report(progress{attempt: c.attempt, phase: overdue}) // it may be called again
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
		case <-c.arrived:
			return true
		case <-store:
			stored = c.storeLog(c.ctx, stored)
		}
	}
}
