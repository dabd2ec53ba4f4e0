package webhook

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// An Event is a kind of thing that a Sink tells.
type Event string

// The events. A run that has ended is told once, as Failed where that was asked
// for and fits, else as Finished.
const (
	Started   Event = "started"    // a run has begun: its function is called
	Finished  Event = "finished"   // a run has ended, however that was
	Failed    Event = "failed"     // a run has failed or timed out
	Late      Event = "late"       // a run starts later than its job's late_after
	LeaseLost Event = "lease_lost" // a run is told to stop: its lease could not be kept
	Missed    Event = "missed"     // a tick could not be run
	Skipped   Event = "skipped"    // a tick, or its function, decided not to run
)

// Events lists all of them.
func Events() []Event {
	return []Event{Started, Finished, Failed, Late, LeaseLost, Missed, Skipped}
}

// Version is that of the form of a Message. Fields may be added to a version.
const Version = 1

// A Message is what is posted, as JSON. Every field is always there, null when
// it says nothing; times are in UTC (RFC 3339).
type Message struct {
	Version int `json:"version"`
	// ID is that of the event: the same however often it is posted, and by
	// whichever replica.
	ID        string `json:"id"`
	Event     Event  `json:"event"`
	Namespace string `json:"namespace"`
	// Replica is the one that ran the tick, or noticed that it did not run.
	Replica string             `json:"replica"`
	Job     string             `json:"job"`
	Tick    string             `json:"tick"`
	Run     string             `json:"run"`
	Token   *locking.Token     `json:"token"`
	Attempt *int               `json:"attempt"`
	Tries   *int               `json:"tries"`
	Trigger *scheduler.Trigger `json:"trigger"`
	Outcome *scheduler.Outcome `json:"outcome"`
	Reason  *string            `json:"reason"` // in words
	Code    *scheduler.Code    `json:"reason_code"`
	Error   *string            `json:"error"`
	Started *string            `json:"started"`
	// Finished is null while the run goes on.
	Finished *string `json:"finished"`
	// LateMS is by how many milliseconds a late run is late.
	LateMS *int64 `json:"late_ms"`
}

// message describes the event of an entry.
func message(event Event, e scheduler.Entry) Message {
	m := Message{
		Version: Version, Event: event, Replica: e.Replica, Job: e.Job, Tick: jobs.FormatTick(e.Tick),
		Run: e.ID(), Token: some(e.Token), Attempt: some(e.Attempt), Tries: some(e.Tries),
		Trigger: some(e.Trigger), Outcome: some(e.Outcome), Reason: some(e.Reason.String()), Code: some(e.Reason.Code), Error: some(e.Error),
		Started: stamp(e.Started), Finished: stamp(e.Finished),
	}
	m.ID = fmt.Sprintf("%s.%s", m.Run, event)
	if e.Attempt > 0 {
		m.ID = fmt.Sprintf("%s.%d.%s", m.Run, e.Attempt, event)
	}
	return m
}

// endings are the events that tell the end of a run, the one that says most
// first.
func endings(o scheduler.Outcome) []Event {
	switch o {
	case scheduler.Failed, scheduler.TimedOut:
		return []Event{Failed, Finished}
	case scheduler.Skipped:
		return []Event{Skipped, Finished}
	}
	return []Event{Finished}
}

func (m Message) encode() []byte {
	b, _ := json.Marshal(m) // strings and numbers always encode
	return b
}

// first returns the first of the events that is among the wanted ones.
func first(wanted, events []Event) (Event, bool) {
	i := slices.IndexFunc(events, func(e Event) bool { return slices.Contains(wanted, e) })
	if i < 0 {
		return "", false
	}
	return events[i], true
}

// some returns nil for the zero value, so that JSON shows null.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return some(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}
