package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// attemptDeps is what all attempts of a replica share.
type attemptDeps struct {
	cfg     *Config
	clock   clocks
	stops   stops
	decided func(*Job, tick, verdict)
	live    func() []Replica
	turns   *turns
	places  *quota // nil: no limit
}

// An attempt decides one tick on this replica, in its own goroutine. It claims the tick,
// starts an execution if it wins, and records the tick if no replica can run it.
type attempt struct {
	*attemptDeps
	*brief
	reporter

	until time.Time     // the end of its window; overlap and catch-up extend it
	delay time.Duration // before the first look, or try
	// headStart is how much longer this attempt waits before it tries, for the claims of
	// replicas with smaller ranks.
	headStart time.Duration

	free     bool // nothing blocked it when it began, and it begins at once
	hasTurn  bool
	hasPlace bool
	caughtUp bool // the tick's own window has closed: this is catching up
	watched  bool // another replica ran, or runs, the tick
	blocked  bool // a try or a look has found a competitor
	// The replica has rank 0 and knows the others: nobody tries before it.
	first bool

	view  locking.Watch // nil until the first look
	looks int           // looks that were followed by a pause
	hints int           // those of them since the last try

	earlier *earlierTicks // nil: the job's ticks are not rerun
	end     attemptEnd
}

// An attemptEnd is what an attempt reports when it is over.
type attemptEnd struct {
	gaveUp bool // it recorded the tick, or left it to replicas that may run it
	// A later request of the stream was claimed, so this one cannot be claimed any more.
	superseded bool
	before     tick      // another tick that comes first; this one is offered again. Zero: none
	until      time.Time // and this one's window then ends here
}

// run decides the tick, and runs it if it is won.
func (a *attempt) run() {
	defer func() { a.report(progress{phase: over, end: a.end}) }()
	defer a.leavePlace()
	if !fits(a.cfg.Labels, a.job.Labels) {
		a.leaveToOthers()
		return
	}
	lease, took, v := a.win()
	if lease == nil {
		a.conclude(v)
		return
	}
	x := &execution{attempt: a, lease: lease, claim: lease.Claim()}
	x.work(took)
}

// conclude records a tick that does not run here.
func (a *attempt) conclude(v verdict) {
	a.end.gaveUp = v.kind == settled || errors.Is(v.err, errElsewhere)
	switch {
	case v.kind == postponed:
		return
	case v.kind == lost:
		if !a.watched { // otherwise the observer was notified before
			a.notify(Event{Kind: EventLost, Err: v.err})
		}
		return
	case a.tick.act != nil && a.leave(v):
		return
	case a.watched && a.begun():
		return // otherwise nobody began the run that was watched
	case a.tick.trigger == ledger.ByRerun && v.reason.Code == ledger.CodePaused:
		return // afterPause offers it again
	}
	a.decided(a.job, a.tick, v)
}

// remaining is the rest of the tick's window. It is zero if the wall clock was set back so
// far that the tick comes again: the attempt would wait until then and block the job's
// other ticks.
func (a *attempt) remaining() time.Duration {
	wall := a.clock.wall()
	if a.tick.act == nil && a.tick.at.Sub(wall) >= jumpThreshold {
		return 0
	}
	return a.until.Sub(wall)
}

// sleep waits for d, and reports whether ctx is still valid.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
