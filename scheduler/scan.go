package scheduler

import (
	"github.com/quorate/quorate/scheduler/internal/catchup"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// startScans starts the queued scans. None starts before the replica knows the pauses,
// since found ticks may run at once.
func (e *engine) startScans() {
	if e.actsKnown {
		e.pasts.start(e.stops.Claims, &e.attempts)
	}
}

// applyScan applies the result of a scan.
func (e *engine) applyScan(s *catchup.Scan) {
	j := s.Owner.(*jobState)
	l := j.lane("")
	if s.Urgent {
		l.scans--
	}
	if !e.jobs.serves(j) {
		return
	}
	switch {
	case s.Found.Err != nil:
		e.cfg.Observer(Event{Kind: EventUnread, Entry: ledger.Entry{Job: j.Name}, Err: s.Found.Err})
		if s.Urgent && s.Accounts() && roster.Passing(s.Found.Err) {
			e.pasts.scanLater(j, s.Span) // too late to catch up, not to record
			e.startScans()
		}
	case s.Accounts():
		e.pasts.wasRead(j, s.Before.Equal)
	}
	if !s.Found.First.IsZero() {
		e.cfg.Observer(Event{Kind: EventOverslept, Entry: ledger.Entry{Job: j.Name}, Since: s.Found.First, Before: s.Found.Before})
	}
	if !s.Found.Rerun.IsZero() {
		l.insert(s.Found.Rerun)
	}
	for _, t := range s.Found.Gone {
		e.rec.Decided(j.Job, t, t.Missed(ledger.CodeUnknown))
	}
	for _, t := range s.Found.Ticks {
		l.overtake(t)
		l.insert(t)
	}
	e.dispatch.proceed(j, l)
}
