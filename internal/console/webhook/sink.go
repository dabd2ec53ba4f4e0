// Package webhook posts scheduler events to an HTTP endpoint. A [Sink] observes a scheduler
// and posts a [Message] for each selected event.
//
// # Delivery
//
// Messages wait in a bounded queue, so no run waits for an endpoint. The sink posts one
// at a time. Status 2xx accepts a message. After 408, 429, 5xx or no answer the sink
// retries with growing pauses. Any other status loses the message, and so
// does a reference that cannot be resolved, or a URL or header that cannot be used. Too many
// tries or a full queue lose it, too. Each loss is counted and logged. The first failure of
// several is logged at once. At the end of a drain the sink tries each waiting message once
// more, within Config.Flush.
//
// A message arrives at least once; repetitions have the same ID. If no replica runs a
// tick, the replica whose record the ledger keeps posts the message, 5 s after the tick's
// window. While the ledger cannot be read, that message waits. Nothing is posted of events while
// no replica runs.
//
// # Secrets
//
// URL, headers and secret may contain references, which are resolved for each try. Log
// lines contain neither their values nor the URL's path, query and password.
//
// # Signatures
//
// Each request has the headers of Standard Webhooks: webhook-id, webhook-timestamp and, with a
// secret, webhook-signature.
package webhook

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Config is the configuration of a Sink. The section is one that package config accepts; zero
// values of the others mean the default.
type Config struct {
	settings.Webhook

	// Name of the sink in log lines.
	Name string
	// Namespace and Replica are in every message.
	Namespace string
	Replica   string
	// Resolve returns the value of a reference such as ${env:NAME}. Default: the reference.
	Resolve func(reference string) (string, error)
	// TagsOf returns a job's tags.
	TagsOf func(job string) []string
	// Carried returns the trace context of an event's tick, which its message carries as the headers
	// traceparent and tracestate. Default: none.
	Carried func(event.Event) (traceparent, tracestate string)

	// Tries is how often one message is posted at most. Default 8.
	Tries int
	// Backoff is the pause after the first try. It doubles up to MaxBackoff; random
	// jitter shortens each pause by up to half. Defaults 1 s and 1 min.
	Backoff, MaxBackoff time.Duration
	// Queue is the number of messages that may wait. A full queue drops the oldest.
	// Default 1000.
	Queue int
	// Flush is how long Run continues after its context has ended. Default 3 s.
	Flush time.Duration

	Client *http.Client // default: one that follows no redirects
	Logger *slog.Logger // default: discards
}

// withDefaults returns a copy in which every zero value has its default.
func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Tries = cmp.Or(c.Tries, 8)
	c.Backoff = cmp.Or(c.Backoff, time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, time.Minute)
	c.Queue = cmp.Or(c.Queue, 1000)
	c.Flush = cmp.Or(c.Flush, 3*time.Second)
	if c.Resolve == nil {
		c.Resolve = func(reference string) (string, error) { return reference, nil }
	}
	if c.TagsOf == nil {
		c.TagsOf = func(string) []string { return nil }
	}
	if c.Carried == nil {
		c.Carried = func(event.Event) (string, string) { return "", "" }
	}
	c.Client = cmp.Or(c.Client, newClient())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// newClient returns a client that follows no redirects: headers go to the configured
// server only.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A Sink posts messages to one endpoint. Give its Observe to a scheduler, and Run it while
// the scheduler runs.
type Sink struct {
	cfg        Config
	queue      chan Message // full: the oldest is dropped
	sent, lost atomic.Uint64
	failing    bool // the last try has failed; of Run alone
}

// Stats count the messages of a Sink.
type Stats struct {
	Sent uint64 // accepted by the endpoint
	Lost uint64
}

// New returns a Sink that does not run yet.
func New(cfg Config) *Sink {
	cfg = cfg.withDefaults()
	return &Sink{cfg: cfg, queue: make(chan Message, cfg.Queue)}
}

// Stats returns the counts so far.
func (s *Sink) Stats() Stats { return Stats{Sent: s.sent.Load(), Lost: s.lost.Load()} }

// Observe queues the messages of an event. It is an event.Observer.
func (s *Sink) Observe(ev event.Event) {
	e := ev.Entry
	switch ev.Kind {
	case event.Started:
		s.notify(ev, Started, 0)
	case event.Late:
		s.notify(ev, Late, ev.By)
	case event.LeaseLost:
		ev.Entry.Reason = ledger.Reason{Code: ledger.CodeLost, Details: &ledger.Details{Text: ev.Err.Error()}}
		s.notify(ev, LeaseLost, 0)
	case event.Finished:
		if e.HandedOver() {
			return // another attempt reports its end
		}
		// The most specific event that is selected reports the end.
		ends := endings(e.Outcome)
		if i := slices.IndexFunc(ends, s.selects); i >= 0 {
			s.notify(ev, ends[i], 0)
		}
	case event.Settled:
		switch {
		case ev.Err != nil: // nobody knows whether it ran
		case e.Outcome == ledger.Skipped:
			s.notify(ev, Skipped, 0)
		default:
			s.notify(ev, Missed, 0)
		}
	}
}

// selects reports whether events of this kind are posted.
func (s *Sink) selects(event Event) bool { return slices.Contains(s.cfg.Events, event) }

// notify queues the message of an event as one of this kind, if that is selected. Late is how late a run
// started.
func (s *Sink) notify(of event.Event, kind Event, late time.Duration) {
	if !s.selects(kind) || !s.wants(of.Entry.Job) {
		return
	}
	m := message(kind, of.Entry)
	m.Namespace, m.LateMS = s.cfg.Namespace, view.Optional(late.Milliseconds())
	if parent, state := s.cfg.Carried(of); parent != "" {
		m.carried = http.Header{"Traceparent": {parent}}
		if state != "" {
			m.carried.Set("Tracestate", state)
		}
	}
	s.enqueue(m)
}

func (s *Sink) wants(job string) bool {
	if len(s.cfg.Jobs) == 0 && len(s.cfg.Tags) == 0 || slices.Contains(s.cfg.Jobs, job) {
		return true
	}
	return slices.ContainsFunc(s.cfg.TagsOf(job), func(tag string) bool { return slices.Contains(s.cfg.Tags, tag) })
}

// enqueue queues m, and drops the oldest messages of a full queue.
func (s *Sink) enqueue(m Message) {
	for {
		select {
		case s.queue <- m:
			return
		default:
		}
		select {
		case oldest := <-s.queue:
			s.lose(oldest, errFull)
		default: // Run has taken one meanwhile
		}
	}
}

// errFull: messages arrive faster than the endpoint accepts them.
var errFull = errors.New("the queue is full")

// lose counts and logs a lost message.
func (s *Sink) lose(m Message, why error) {
	s.cfg.Logger.Warn("webhook lost a message", slog.String("webhook", s.cfg.Name), slog.String("id", m.ID),
		slog.String("event", m.Event), slog.String("job", m.Job), slog.String("error", why.Error()),
		slog.Uint64("lost_so_far", s.lost.Add(1)))
}
