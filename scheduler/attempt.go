package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// surroundings are what all attempts of a replica share.
type surroundings struct {
	cfg     *Config
	clock   clocks
	stops   stops
	decided func(*Job, tick, verdict)
	live    func() []Replica
	turns   *turns
	places  *quota // nil: no limit
}

// An attempt decides one tick on this replica, in a goroutine of its own: it
// claims the tick, has an execution run it if it wins, and accounts for it if nobody can.
type attempt struct {
	*surroundings
	*brief
	reporter

	until time.Time     // the end of its window, which overlap and catch-up move
	delay time.Duration // before the first look, or try
	// headStart is how much longer those before this one in rank have for their
	// claims, before this one may try.
	headStart time.Duration

	free     bool // nothing was in its way when it began, and it begins at once
	hasTurn  bool
	hasPlace bool
	caughtUp bool // the tick's own window has closed; from then on it is caught up
	watched  bool // another replica ran, or runs, the tick
	blocked  bool // a try or a look has found somebody else in the way
	// The replica is first in rank and knows the others: nobody tries before it.
	first bool

	view  locking.Watch // nil until the first look
	looks int           // that were followed by a pause
	hints int           // of them, those since the last try

	earlier *hindsight // nil: the job's ticks are not run again
	left    remains
}

// remains are what an attempt leaves to the loop when it is over.
type remains struct {
	gaveUp bool // it accounted for the tick, or left it to others, who may run it
	// A later request of the stream was claimed, so that nobody can claim this one any more.
	superseded bool
	before     tick      // another tick that comes first; this one is to be offered again. Zero: none
	until      time.Time // and then it has until here
}

// run decides the tick and returns when nothing is left to do for it.
func (a *attempt) run() {
	defer func() { a.report(progress{phase: over, left: a.left}) }()
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

// conclude accounts for a tick that does not run here.
func (a *attempt) conclude(v verdict) {
	a.left.gaveUp = v.kind == settled || errors.Is(v.err, errElsewhere)
	switch {
	case v.kind == postponed:
		return
	case v.kind == lost:
		if !a.watched { // or it was told
			a.tell(Event{Kind: EventLost, Err: v.err})
		}
		return
	case a.tick.act != nil && a.leave(v):
		return
	case a.watched && a.begun():
		return // or nobody ever began what was watched
	case a.tick.trigger == ledger.ByRerun && v.reason.Code == ledger.CodePaused:
		return // afterPause offers it again
	}
	a.decided(a.job, a.tick, v)
}

// remaining is the rest of the tick's window. None is left when the wall clock was
// set back by so much that the tick comes again: the attempt would go on until
// then, and keep the job's other ticks waiting.
func (a *attempt) remaining() time.Duration {
	wall := a.clock.wall()
	if a.tick.act == nil && a.tick.at.Sub(wall) >= jumpThreshold {
		return 0
	}
	return a.until.Sub(wall)
}

// sleep waits and tells whether ctx let it.
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
