package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An Event is a kind of event: settings.Webhook has all as choices.
type Event = string

// The events. The end of a run is posted once: as Failed or Skipped if that is selected
// and applies, else as Finished.
const (
	Started   Event = "started"    // the function of a run is called
	Finished  Event = "finished"   // a run has ended, with any outcome
	Failed    Event = "failed"     // a run has failed or timed out
	Late      Event = "late"       // a run starts later than its job's late_after
	LeaseLost Event = "lease_lost" // a run must stop: its lease could not be extended
	Missed    Event = "missed"     // a tick could not be run
	Skipped   Event = "skipped"    // a tick, or its function, decided not to run
)

// Version of the format of a Message. A version may gain fields.
const Version = 1

// A Message is what is posted, as JSON. Every field is always present, null if it does
// not apply; times are in UTC (RFC 3339).
type Message struct {
	Version int `json:"version"`
	// ID of the event, the same in every try and from every replica. It has no full stop,
	// since one follows it in the text that is signed.
	ID        string `json:"id"`
	Event     Event  `json:"event"`
	Namespace string `json:"namespace"`
	// Replica that ran the tick, or reports that it did not run.
	Replica string          `json:"replica"`
	Job     string          `json:"job"`
	Tick    string          `json:"tick"`
	Run     string          `json:"run"`
	Token   *locking.Token  `json:"token"`
	Attempt *int            `json:"attempt"`
	Calls   *int            `json:"tries"`
	Trigger *ledger.Trigger `json:"trigger"`
	Outcome *ledger.Outcome `json:"outcome"`
	Reason  *string         `json:"reason"` // in words
	Code    *ledger.Code    `json:"reason_code"`
	Error   *string         `json:"error"`
	Started *string         `json:"started"`
	// Finished is null for a running run.
	Finished *string `json:"finished"`
	// LateMS is how late a run started.
	LateMS *int64 `json:"late_ms"`

	carried http.Header // the trace context
}

// message describes the event of an entry.
func message(event Event, e ledger.Entry) Message {
	m := Message{
		Version: Version, Event: event, Replica: e.Replica, Job: e.Job, Tick: jobs.FormatTick(e.Tick),
		Run: e.ID(), Token: view.Optional(e.Token), Attempt: view.Optional(e.Attempt), Calls: view.Optional(e.Calls),
		Trigger: view.Optional(e.Trigger), Outcome: view.Optional(e.Outcome), Reason: view.Optional(e.Reason.String()), Code: view.Optional(e.Reason.Code), Error: view.Optional(e.Error),
		Started: stamp(e.Started), Finished: stamp(e.Finished),
	}
	m.ID = fmt.Sprintf("%s.%s", m.Run, event)
	if e.Attempt > 0 {
		m.ID = fmt.Sprintf("%s.%d.%s", m.Run, e.Attempt, event)
	}
	m.ID = strings.ReplaceAll(m.ID, ".", "~") // which no name of a job has
	return m
}

// endings are the events that report the end of a run, the most specific first.
func endings(o ledger.Outcome) []Event {
	switch o {
	case ledger.Failed, ledger.TimedOut:
		return []Event{Failed, Finished}
	case ledger.Skipped:
		return []Event{Skipped, Finished}
	}
	return []Event{Finished}
}

func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}
