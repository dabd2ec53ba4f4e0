package scheduler

import "github.com/quorate/quorate/scheduler/internal/event"

// What an Observer receives.
type (
	// An Observer receives each event. The engine and runs call it from their goroutines.
	// It must not block or call the Scheduler. Logs, metrics and live views are observers.
	Observer = event.Observer
	// An Event is one thing that happened.
	Event = event.Event
	// An EventKind is the kind of an Event.
	EventKind = event.Kind
	// A Diff is what an update changes in a set of jobs.
	Diff = event.Diff
	// A Rename is a job that continues under another name.
	Rename = event.Rename
)

// Events in the life of one tick, in the order in which they may come. Package event says
// which fields each sets.
const (
	EventTried       = event.Tried
	EventRetrying    = event.Retrying
	EventLost        = event.Lost
	EventClaimed     = event.Claimed
	EventUnused      = event.Unused
	EventStarted     = event.Started
	EventLate        = event.Late
	EventExtended    = event.Extended
	EventRetried     = event.Retried
	EventRefused     = event.Refused
	EventLeaseLost   = event.LeaseLost
	EventOverdue     = event.Overdue
	EventChained     = event.Chained
	EventReleased    = event.Released
	EventFinished    = event.Finished
	EventNotArchived = event.NotArchived
	EventDecided     = event.Decided
	EventRecorded    = event.Recorded
	EventSettled     = event.Settled
)

// Events of a job or of the replica. Package event says which fields each sets.
const (
	EventOverslept    = event.Overslept
	EventUnread       = event.Unread
	EventForgotten    = event.Forgotten
	EventUpdated      = event.Updated
	EventUpdateFailed = event.UpdateFailed
	EventClockJumped  = event.ClockJumped
	EventTwin         = event.Twin
	EventStranger     = event.Stranger
	EventDraining     = event.Draining
)
