package scheduler

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/locking"
)

// surroundings are what all attempts of a replica share.
type surroundings struct {
	cfg     *Config
	clock   clocks
	stops   stops
	report  func(progress) bool
	consult func(progress) bool
	decided func(*Job, tick, verdict)
	live    func() []Replica
	turns   *turns
	places  *quota // nil: no limit
	watch   watch

	deadlines deadlines
}

// An attempt decides one tick on this replica, in a goroutine of its own: it
// claims the tick, runs it if it wins, and accounts for it if nobody can.
type attempt struct {
	*surroundings

	job   *Job // as it was when the attempt began
	tick  tick
	until time.Time     // the end of its window, which overlap and catch-up move
	delay time.Duration // before the first look, or try
	// headStart is how much longer those before this one in rank have for their
	// claims, before this one may try.
	headStart time.Duration
	later     lazyContext // ends when the next tick of the schedule comes
	behind    *attempt    // the loop's answer to phase asking
	line      inLine      // the loop's answer to phase queuing

	free     bool // nothing was in its way when it began, and it begins at once
	hasTurn  bool
	hasPlace bool
	caughtUp bool // the tick's own window has closed; from then on it is caught up
	watched  bool // another replica ran, or runs, the tick
	gaveUp   bool // it accounted for the tick, or left it to others, who may run it
	// The replica is first in rank and knows the others: nobody tries before it.
	first bool
	// A run of the job has begun on this replica since it began to wait for a turn.
	disturbed atomic.Bool
	toldLost  sync.Once
	rank      int // of this replica for the tick, from 0
	crowd     int // replicas that may run the job, as far as this one knows

	view  locking.Watch // nil until the first look
	looks int           // that were followed by a pause
	hints int           // of them, those since the last try

	earlier *hindsight // nil: the job's ticks are not run again

	// The pauses between the tries to claim, and the run. The loop may end
	// either, besides the drain.
	waits, runs lazyContext

	// Of the run, once it lasts.
	keeper *locking.Keeper
	unhook func() bool // the run's context from the keeper's

	// Set before the loop is told that the tick is won, never changed.
	lease   locking.Lease
	slot    locking.Lease // of the job's group; nil if it has none
	started time.Time
	from    time.Time // the same, by the clock that leases go by

	log   runLog // what the function logs
	pulse pulse  // how the lease was extended

	spent   int      // tries that failed of attempts that handed the tick over
	initial call     // the first of the function, and as a rule the only one
	refused refusals // of the run's writes; told by its guards, from anywhere

	after *attempt // the next one in the crew's line

	// The loop's own; not for the attempt's goroutine.
	owner   *job
	lane    *lane
	overdue time.Time
	passed  bool // later is closed
	// It catches up its tick since it began, which nobody began before.
	catchesUp bool
	watches   bool // holder, another replica, ran or runs the tick
	// Set before the loop is told that the attempt is over: a later request of
	// the stream was claimed, so that nobody can claim this one any more.
	superseded bool
	holder     string
	ended      lazyContext // ends when nothing of the attempt goes on any more
}

// claim is what was granted, once it was.
func (a *attempt) claim() locking.Claim { return a.lease.Claim() }

// stopWaiting ends the pauses between the tries to claim.
func (a *attempt) stopWaiting(cause error) { a.waits.end(cause) }

// cancel ends the context of the run.
func (a *attempt) cancel(cause error) { a.runs.end(cause) }

// run decides the tick and returns when nothing is left to do for it.
func (a *attempt) run() {
	defer a.report(progress{attempt: a, phase: over})
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
	a.work(lease, took)
}

// conclude accounts for a tick that does not run here.
func (a *attempt) conclude(v verdict) {
	a.gaveUp = v.kind == settled || errors.Is(v.err, errElsewhere)
	switch {
	case v.kind == postponed:
		return
	case v.kind == lost:
		if !a.watched { // or it was told
			a.cfg.Observer.Lost(a.job.Name, a.tick.at, v.err)
		}
		return
	case a.tick.act != nil && a.leave(v):
		return
	case a.watched && a.begun():
		return // or nobody ever began what was watched
	case a.tick.trigger == ByRerun && v.reason.Code == CodePaused:
		return // afterPause offers it again
	}
	a.decided(a.job, a.tick, v)
}

// left is the rest of the tick's window. None is left when the wall clock was
// set back by so much that the tick comes again: the attempt would go on until
// then, and keep the job's other ticks waiting.
func (a *attempt) left() time.Duration {
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
