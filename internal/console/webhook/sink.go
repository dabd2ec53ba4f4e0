package webhook

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Sink posts messages to one endpoint. Give its Observe to a scheduler, and Run it while
// the scheduler runs.
type Sink struct {
	cfg Config

	mu    sync.Mutex
	queue []Message
	stats Stats
	more  chan struct{} // has an element after a message was queued

	failing bool // the last try has failed; of Run alone
}

// Stats count the messages of a Sink.
type Stats struct {
	Sent uint64 // accepted by the endpoint
	Lost uint64
}

// New returns a Sink that does not run yet.
func New(cfg Config) (*Sink, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: cfg, more: make(chan struct{}, 1)}, nil
}

// Stats returns the counts so far.
func (s *Sink) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Observe queues the messages of an event. It is a scheduler.Observer.
func (s *Sink) Observe(ev scheduler.Event) {
	e := ev.Entry
	switch ev.Kind {
	case scheduler.EventStarted:
		s.notify(e, Started)
	case scheduler.EventLate:
		s.notify(e, Late, func(m *Message) { m.LateMS = some(ev.By.Milliseconds()) })
	case scheduler.EventLeaseLost:
		e.Reason = ledger.Reason{Code: ledger.CodeLost, Details: &ledger.Details{Text: ev.Err.Error()}}
		s.notify(e, LeaseLost)
	case scheduler.EventFinished:
		if e.HandedOver() {
			return // another attempt reports its end
		}
		if event, ok := first(s.cfg.Events, endings(e.Outcome)); ok {
			s.notify(e, event)
		}
	case scheduler.EventSettled:
		if ev.Err == nil {
			s.notify(e, notRun(e)) // the ledger has no run of it
		}
	}
}

// notRun is the event of a tick that did not run.
func notRun(e ledger.Entry) Event {
	if e.Outcome == ledger.Skipped {
		return Skipped
	}
	return Missed
}

// notify queues the message of an event if it is selected.
func (s *Sink) notify(e ledger.Entry, event Event, more ...func(*Message)) {
	if !slices.Contains(s.cfg.Events, event) || !s.wants(e.Job) {
		return
	}
	m := message(event, e)
	m.Namespace = s.cfg.Namespace
	for _, add := range more {
		add(&m)
	}
	s.add(m)
}

func (s *Sink) wants(job string) bool {
	if len(s.cfg.Jobs) == 0 && len(s.cfg.Tags) == 0 || slices.Contains(s.cfg.Jobs, job) {
		return true
	}
	return slices.ContainsFunc(s.cfg.TagsOf(job), func(tag string) bool { return slices.Contains(s.cfg.Tags, tag) })
}

// add queues m, and drops the oldest message of a full queue.
func (s *Sink) add(m Message) {
	s.mu.Lock()
	s.queue = append(s.queue, m)
	over := max(0, len(s.queue)-s.cfg.Queue)
	lost := s.queue[:over:over]
	s.queue = s.queue[over:]
	s.mu.Unlock()
	for _, m := range lost {
		s.lose(m, errFull)
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// errFull: messages arrive faster than the endpoint accepts them.
var errFull = errors.New("the queue is full")

// lose counts and logs a lost message.
func (s *Sink) lose(m Message, why error) {
	s.mu.Lock()
	s.stats.Lost++
	total := s.stats.Lost
	s.mu.Unlock()
	s.cfg.Logger.Warn("webhook lost a message", slog.String("webhook", s.cfg.Name), slog.String("id", m.ID),
		slog.String("event", string(m.Event)), slog.String("job", m.Job), slog.String("error", why.Error()),
		slog.Uint64("lost_so_far", total))
}

func (s *Sink) pop() (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Message{}, false
	}
	m := s.queue[0]
	s.queue = s.queue[1:]
	return m, true
}

// next waits for a message; false once ctx has ended.
func (s *Sink) next(ctx context.Context) (Message, bool) {
	for ctx.Err() == nil {
		if m, ok := s.pop(); ok {
			return m, true
		}
		select {
		case <-s.more:
		case <-ctx.Done():
		}
	}
	return Message{}, false
}
