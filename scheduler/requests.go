package scheduler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// applyActs applies open acts that are new here.
func (e *engine) applyActs(open acts.Open) {
	same := slices.EqualFunc(open.Pauses, e.pauses, func(a, b acts.Act) bool { return a.ID == b.ID })
	before := e.pauses
	e.pauses = open.Pauses
	e.setActsKnown()
	if !same {
		for _, j := range e.jobs {
			e.pauseChanged(j, !j.PausedFor(before).IsZero())
		}
	}
	seen := map[string]bool{}
	for _, act := range open.Requests {
		seen[act.ID] = true
		if !e.startedRequests[act.ID] {
			e.startedRequests[act.ID] = e.request(act)
		}
	}
	for _, act := range open.Expired {
		seen[act.ID] = true
		if !e.settling[act.ID] {
			e.settling[act.ID] = true
			e.desk.add(e.settlementOf(act))
		}
	}
	some, more := forget(e.startedRequests, seen), forget(e.settling, seen)
	if some || more {
		e.withdraw(seen)
	}
}

// withdraw drops ticks of requests that are no longer open: they were done or withdrawn.
func (e *engine) withdraw(seen map[string]bool) {
	gone := func(t job.Tick) bool { return t.Act != nil && !seen[t.Act.ID] }
	for _, j := range e.jobs {
		for _, l := range j.lanes {
			l.queue = slices.DeleteFunc(l.queue, gone)
			if a := l.claiming; a != nil && gone(a.Tick) {
				a.StopWaiting(errWithdrawn)
			}
		}
	}
	e.desk.forget(seen)
}

// errWithdrawn ends the waiting of a tick whose request was withdrawn.
var errWithdrawn = errors.New("the request is open no more")

// forget drops what was not seen, and reports whether there was any.
func forget[V any](ids map[string]V, seen map[string]bool) bool {
	before := len(ids)
	maps.DeleteFunc(ids, func(id string, _ V) bool { return !seen[id] })
	return len(ids) < before
}

// request starts a request. It returns false if this replica cannot, or not yet.
func (e *engine) request(act acts.Act) bool {
	if act.Kind == acts.Cancel {
		return e.cancelRun(act)
	}
	j := e.jobOf(act.Job)
	if j == nil {
		return false
	}
	s := e.settlementOf(act)
	if s.text != "" {
		e.desk.add(s)
		return true
	}
	for _, t := range s.ticks {
		e.offer(j, t)
	}
	return true
}

// jobOf returns the job with the key, nil if there is none.
func (e *engine) jobOf(key string) *jobState {
	for _, j := range e.jobs {
		if j.StoredAs() == key {
			return j
		}
	}
	return nil
}

// cancelRun ends the context of the run if it is on this replica.
func (e *engine) cancelRun(act acts.Act) bool {
	for _, j := range slices.Concat(e.jobs, e.leaving) {
		for _, run := range j.running {
			if run.Tick.Entry(run.Job, "").ID() != act.Run {
				continue
			}
			run.Cancel(&attempt.StopError{Reason: ledger.Reason{Code: ledger.CodeCancelled, Details: &ledger.Details{By: job.OrAnotherReplica(act.By), Text: act.Reason}}})
			e.desk.add(settlement{act: act, text: "cancelled on replica " + e.cfg.Replica})
			return true
		}
	}
	return false
}

// settlementOf returns the request with its ticks.
func (e *engine) settlementOf(act acts.Act) settlement {
	s := settlement{act: act}
	switch act.Kind {
	case acts.Trigger:
		s.ticks = []job.Tick{tickFor(act, acts.StreamManual, act.At, act.At, act.Trigger)}
	case acts.Backfill:
		j := e.jobOf(act.Job)
		if j == nil {
			break // a replica with the job settles it, or it expires
		}
		for i, at := range act.Backfill(j.Schedule) {
			s.ticks = append(s.ticks, tickFor(act, acts.StreamBackfill, act.At.Add(time.Duration(i)*time.Millisecond), at, ledger.ByBackfill))
		}
		switch n := len(s.ticks); {
		case n == 0:
			s.text = "nothing to do: the schedule has no ticks in that range"
		case n > acts.MaxBackfill:
			s.text = fmt.Sprintf("refused: the range has more than %d ticks; ask for parts of it", acts.MaxBackfill)
		}
	case acts.Cancel:
		s.text = "the run had ended, or its replica had died"
	}
	return s
}

// tickFor is a tick of the act.
func tickFor(a acts.Act, stream string, at, nominal time.Time, trigger ledger.Trigger) job.Tick {
	return job.Tick{
		Stream: stream, At: at, Nominal: nominal, Start: at, Until: a.Expires(), Trigger: trigger, Act: &a,
	}
}

// ended queues the settlement of a request after an attempt for its last tick.
func (e *engine) ended(t *ticket, superseded bool) {
	act := t.Tick.Act
	if act == nil || e.cfg.Acts == nil {
		return
	}
	s := e.settlementOf(*act)
	if n := len(s.ticks); n == 0 || !s.ticks[n-1].At.Equal(t.Tick.At) {
		return
	}
	if superseded {
		s.why = ledger.Reason{Code: ledger.CodeSuperseded, Variant: ledger.VariantRequest}
	}
	e.desk.add(s)
}
