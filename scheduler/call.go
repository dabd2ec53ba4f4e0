package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence"
)

// call calls the function once and sets end.err to its error, and end.cause to
// why the context of this call had ended by then, if it had. As a rule the
// function runs in the attempt's goroutine: if it ends that, only what the
// attempt has deferred goes on. One that may be called again gets a goroutine of
// its own for each call.
func (a *attempt) call(ctx context.Context, run jobs.Run, end *ending) {
	if limit := a.job.Retry.AttemptTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTryTimeout)
		defer cancel()
	}
	ctx = fence.WithObserver(ctx, func(e *fence.StaleError) { a.refuse(run, *e) })
	var l latecomer
	l.expect(ctx, a)
	defer func() {
		l.arrive()
		a.tellLost(ctx)
		end.cause = context.Cause(ctx)
	}()
	if a.job.Retry.Attempts > 1 {
		end.err = jobs.Call(ctx, a.handler(), run)
		return
	}
	jobs.Do(ctx, a.handler(), run, &end.err)
}

// A latecomer is a function that may ignore that its context has ended. Only one
// that takes its time gets a goroutine for that.
type latecomer struct {
	attempt *attempt
	ctx     context.Context
	timer   *time.Timer
	late    sync.WaitGroup
	arrived chan struct{} // closed when the function has returned
}

// quickly is how long a function takes that nobody needs to watch.
const quickly = 10 * time.Millisecond

// expect reports the function if it has not returned SafetyMargin after ctx ended.
func (l *latecomer) expect(ctx context.Context, a *attempt) {
	l.attempt, l.ctx, l.arrived = a, ctx, make(chan struct{})
	l.late.Add(1)
	l.timer = time.AfterFunc(quickly, l.wait)
}

// arrive says that the function has returned.
func (l *latecomer) arrive() {
	if !l.timer.Stop() {
		close(l.arrived)
		l.late.Wait()
	}
}

func (l *latecomer) wait() {
	defer l.late.Done()
	select {
	case <-l.ctx.Done():
	case <-l.arrived:
		return
	}
	a := l.attempt
	a.tellLost(l.ctx)
	since := a.clock.wall()
	timer := time.NewTimer(a.cfg.SafetyMargin)
	defer timer.Stop()
	select {
	case <-l.arrived:
		return
	case <-timer.C:
	}
	a.cfg.Observer.Overdue(a.job.Name, a.claim, since)
	a.report(progress{attempt: a, phase: overdue, since: since})
	<-l.arrived
	a.report(progress{attempt: a, phase: overdue}) // it may be called again
}
