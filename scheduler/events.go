package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// An Observer is told of each event. It is called from the engine's and from
// runs' goroutines, must not block and must not call back into the Scheduler.
// Logs, metrics and live views are observers.
type Observer func(Event)

// An Event is one thing that happened. It is a single struct with a Kind, not a
// type per kind, because most events concern one tick: every observer then finds
// the job, the tick and the token at the same place. The documentation of each
// kind names the fields that it sets beside Entry; the others are zero.
type Event struct {
	Kind EventKind
	// Entry is what is known so far of the tick or run. Its Outcome is empty until
	// one is known, and Running while the run goes on. Events of a job that concern
	// no single tick set Entry.Job alone, and events of the replica nothing.
	Entry ledger.Entry
	// Run is the id of the run (jobs.Run.ID); empty before a tick is claimed.
	Run string
	// Err is why the step that the event is about failed; nil: it succeeded. The
	// error of the function is in Entry.Error.
	Err error
	// Try is the call of the function, as in jobs.Run.Try.
	Try int

	Took time.Duration // how long the step took
	Left time.Duration // how much longer the lease would have lasted when the step began
	By   time.Duration // how late, or how far
	In   time.Duration // the pause before the next try

	Deadline      time.Time // of the lease
	Since, Before time.Time

	Triggers string   // the key of the job that is to run next
	Diff     Diff     // how the jobs changed
	Running  []string // the jobs that still run
}

// An EventKind says what an Event tells.
type EventKind string

// Events in the life of one tick, in the order in which they may come.
const (
	// EventTried: one try to claim the tick has ended. Sets Took, and Err, as a rule
	// an *locking.AcquireError, if the claim was not granted.
	EventTried EventKind = "tried"
	// EventRetrying: the claim failed in a way that may pass. Sets Err and In.
	EventRetrying EventKind = "retrying"
	// EventLost: another replica runs, or ran, the tick. Sets Err.
	EventLost EventKind = "lost"
	// EventClaimed: this replica won the tick. EventStarted follows, or EventUnused.
	// Sets Took, the time from the first message of the winning attempt.
	EventClaimed EventKind = "claimed"
	// EventUnused: the claim is given back, since it came too late to begin the
	// work. EventDecided follows, and not EventFinished.
	EventUnused EventKind = "unused"
	// EventStarted: the function is about to be called. Sets By, how long after the
	// time of the tick, jitter taken off.
	EventStarted EventKind = "started"
	// EventLate: the run starts later than Job.LateAfter allows. Sets By.
	EventLate EventKind = "late"
	// EventExtended: the lease of the run was extended, or not. Sets Deadline, Left,
	// Took and Err.
	EventExtended EventKind = "extended"
	// EventRetried: a call of the function failed, and the function is called again
	// under the same claim. Sets Try, the call that failed, Err, its error, and In.
	// The run's own Logger has said so.
	EventRetried EventKind = "retried"
	// EventRefused: a guard refused a write of the run. Err is the *fence.StaleError.
	// The run's own Logger has said so.
	EventRefused EventKind = "refused"
	// EventLeaseLost: the context of the run has ended because its lease could not
	// be kept. Sets Err. EventFinished follows when the function has returned.
	EventLeaseLost EventKind = "lease_lost"
	// EventOverdue: the function ignores its ended context. Sets Since.
	EventOverdue EventKind = "overdue"
	// EventChained: the end of the run triggered another job, or with Err could not.
	// Sets Triggers.
	EventChained EventKind = "chained"
	// EventReleased: the lease of a run that has ended was given back, or with Err
	// was not. Sets Left, which is negative if the lease had run out, and Took.
	// EventFinished follows.
	EventReleased EventKind = "released"
	// EventFinished: a run ended as Entry.Outcome says. Err is why the ledger may not
	// have it.
	EventFinished EventKind = "finished"
	// EventNotArchived: what the run logged could not be kept. Sets Err.
	EventNotArchived EventKind = "not_archived"
	// EventDecided: the tick will not run, for Entry.Reason. Each replica that
	// decides so tells it.
	EventDecided EventKind = "decided"
	// EventRecorded: the ledger took a tick that did not run, or with Err did not.
	EventRecorded EventKind = "recorded"
	// EventSettled: the ledger took it from this replica before any other, and knows
	// of no run. As a rule one replica of the cluster tells it; where the ledger
	// cannot be asked each one does. Config.TellSettled asks for it.
	EventSettled EventKind = "settled"
)

// Events of a job or of the replica.
const (
	// EventOverslept: ticks of the job from Since on and before Before were not
	// noticed in time, and are too many to record one by one.
	EventOverslept EventKind = "overslept"
	// EventUnread: the ledger could not be read to see which ticks of the job nobody
	// ran; none of them is caught up. Sets Err.
	EventUnread EventKind = "unread"
	// EventForgotten: what was kept of a job that no replica has served since Since
	// was dropped; or, with Err, could not be, and is tried again.
	EventForgotten EventKind = "forgotten"
	// EventUpdated: other jobs are served from now on. Sets Diff.
	EventUpdated EventKind = "updated"
	// EventUpdateFailed: new jobs could not be read or are not valid, and the ones
	// before stay. Sets Err. It is told again when the reason changes, and without
	// Err when all is well again.
	EventUpdateFailed EventKind = "update_failed"
	// EventClockJumped: wall and monotonic clock moved apart (a suspended machine, or
	// somebody set the clock). Sets By, positive if the wall clock went ahead.
	EventClockJumped EventKind = "clock_jumped"
	// EventDraining: no new ticks are taken. Sets Running.
	EventDraining EventKind = "draining"
)
