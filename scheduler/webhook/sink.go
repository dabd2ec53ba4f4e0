package webhook

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// A Sink posts messages to one endpoint. Make one with New, give its Observer to
// a scheduler, and Run it as long as that runs.
type Sink struct {
	cfg Config

	mu    sync.Mutex
	queue []Message
	told  map[string]bool // ids of ticks that were told without a quorum
	stats Stats
	more  chan struct{} // holds one element after something was added
}

// Stats count the messages of a Sink.
type Stats struct {
	Sent uint64 // and taken
	Lost uint64 // the queue was full, or nobody took it
}

// New returns a Sink that does not run yet. It contacts nobody.
func New(cfg Config) (*Sink, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Sink{cfg: cfg, told: map[string]bool{}, more: make(chan struct{}, 1)}, nil
}

// Stats returns the counts so far.
func (s *Sink) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Observer tells the sink what happens.
func (s *Sink) Observer() scheduler.Observer {
	o := scheduler.Observer{
		Late: func(e scheduler.Entry, by time.Duration) {
			s.tell(e, Late, func(m *Message) { m.LateMS = some(by.Milliseconds()) })
		},
		LeaseLost: func(e scheduler.Entry, cause error) {
			e.Reason = scheduler.Reason{Code: scheduler.CodeLost, Details: &scheduler.Details{Text: cause.Error()}}
			s.tell(e, LeaseLost)
		},
		Finished: func(e scheduler.Entry, _ error) {
			if e.HandedOver() {
				return // another attempt says how it ends
			}
			if event, ok := first(s.cfg.Events, endings(e.Outcome)); ok {
				s.tell(e, event)
			}
		},
		Settled: s.settled,
		Recorded: func(e scheduler.Entry, err error) {
			if err != nil && !errors.Is(err, scheduler.ErrDropped) {
				s.unsettled(e)
			}
		},
	}
	if slices.Contains(s.cfg.Events, Started) { // it costs something
		o.Started = func(e scheduler.Entry, _ time.Duration) { s.tell(e, Started) }
	}
	return o
}

// notRun is the event of a tick that did not run.
func notRun(e scheduler.Entry) Event {
	if e.Outcome == scheduler.Skipped {
		return Skipped
	}
	return Missed
}

// maxTold bounds the ids that are remembered, for ever-lasting outages.
const maxTold = 10_000

// unsettled tells of a tick at once, since there is no quorum to agree on who
// does.
func (s *Sink) unsettled(e scheduler.Entry) {
	s.tell(e, notRun(e))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.told) < maxTold {
		s.told[e.ID()] = true
	}
}

// settled tells of a tick that the ledger knows from this replica, unless it was
// told before.
func (s *Sink) settled(e scheduler.Entry) {
	s.mu.Lock()
	told := s.told[e.ID()]
	delete(s.told, e.ID())
	s.mu.Unlock()
	if !told {
		s.tell(e, notRun(e))
	}
}

// tell queues the message of an event, if it is wanted.
func (s *Sink) tell(e scheduler.Entry, event Event, more ...func(*Message)) {
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

// add queues m. Beyond the bound the oldest message is lost.
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

// errFull: messages come faster than they are taken.
var errFull = errors.New("too many messages wait")

// lose counts a message that nobody has taken, and logs it.
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

// next waits for a message. It returns false once ctx has ended.
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
