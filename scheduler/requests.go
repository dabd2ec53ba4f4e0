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

// requests are what people asked for, as the desk last read it.
type requests struct {
	replica  string
	desk     *desk
	jobs     *jobTable
	dispatch *dispatcher

	started  map[string]bool // by this replica
	settling map[string]bool // expired requests
}

// apply applies open requests that are new here.
func (r *requests) apply(open acts.Open) {
	seen := map[string]bool{}
	for _, act := range open.Requests {
		seen[act.ID] = true
		if !r.started[act.ID] {
			r.started[act.ID] = r.start(act)
		}
	}
	for _, act := range open.Expired {
		seen[act.ID] = true
		if !r.settling[act.ID] {
			r.settling[act.ID] = true
			r.desk.add(r.settlementOf(act))
		}
	}
	some, more := forget(r.started, seen), forget(r.settling, seen)
	if some || more {
		r.withdraw(seen)
	}
}

// withdraw drops ticks of requests that are no longer open: they were done or withdrawn.
func (r *requests) withdraw(seen map[string]bool) {
	gone := func(t job.Tick) bool { return t.Act != nil && !seen[t.Act.ID] }
	for _, j := range r.jobs.list {
		for _, l := range j.lanes {
			l.queue = slices.DeleteFunc(l.queue, gone)
			if a := l.claiming; a != nil && gone(a.Tick) {
				a.StopWaiting(errWithdrawn)
			}
		}
	}
	r.desk.forget(seen)
}

// errWithdrawn ends the waiting of a tick whose request was withdrawn.
var errWithdrawn = errors.New("the request is open no more")

// forget drops what was not seen, and reports whether there was any.
func forget[V any](ids map[string]V, seen map[string]bool) bool {
	before := len(ids)
	maps.DeleteFunc(ids, func(id string, _ V) bool { return !seen[id] })
	return len(ids) < before
}

// start starts a request. It returns false if this replica cannot, or not yet.
func (r *requests) start(act acts.Act) bool {
	if act.Kind == acts.Cancel {
		return r.cancelRun(act)
	}
	j := r.jobs.keyed(act.Job)
	if j == nil {
		return false
	}
	s := r.settlementOf(act)
	if s.text != "" {
		r.desk.add(s)
		return true
	}
	for _, t := range s.ticks {
		r.dispatch.offer(j, t)
	}
	return true
}

// cancelRun ends the context of the run if it is on this replica.
func (r *requests) cancelRun(act acts.Act) bool {
	for _, j := range r.jobs.all() {
		for _, run := range j.running {
			if run.Tick.Entry(run.Job, "").ID() != act.Run {
				continue
			}
			run.Cancel(&attempt.StopError{Reason: ledger.Reason{Code: ledger.CodeCancelled, Details: &ledger.Details{By: job.OrAnotherReplica(act.By), Text: act.Reason}}})
			r.desk.add(settlement{act: act, text: "cancelled on replica " + r.replica})
			return true
		}
	}
	return false
}

// settlementOf returns the request with its ticks.
func (r *requests) settlementOf(act acts.Act) settlement {
	s := settlement{act: act}
	switch act.Kind {
	case acts.Trigger:
		s.ticks = []job.Tick{tickFor(act, acts.StreamManual, act.At, act.At, act.Trigger)}
	case acts.Backfill:
		j := r.jobs.keyed(act.Job)
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
func (r *requests) ended(t *ticket, superseded bool) {
	act := t.Tick.Act
	if act == nil {
		return
	}
	s := r.settlementOf(*act)
	if n := len(s.ticks); n == 0 || !s.ticks[n-1].At.Equal(t.Tick.At) {
		return
	}
	if superseded {
		s.why = ledger.Reason{Code: ledger.CodeSuperseded, Variant: ledger.VariantRequest}
	}
	r.desk.add(s)
}
