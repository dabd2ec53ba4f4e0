package scheduler

import (
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An earlier run of its job, on this replica or another, blocks a tick while its lease
// lasts. Each policy waits for its end:
//
//	skip             within the tick's window
//	queue            until the next tick of the stream comes
//	cancel_previous  until then, and asks the run to stop
//
// and then skips the tick. The window of a tick that may wait longer stays open while a run
// blocks it, and for Config.Window afterwards.

// replace cancels the runs of earlier ticks on this replica if t replaces them. Every live
// replica does so at the same time, also the one with the run. Catching up replaces
// nothing, nor does a tick of a paused job.
func (d *dispatcher) replace(j *jobState, t job.Tick) {
	if !j.Traits().Replaces || t.Trigger != ledger.BySchedule && t.Trigger != ledger.ByManual ||
		t.Act == nil && !j.PausedFor(d.pauses).IsZero() {
		return
	}
	for _, run := range j.running {
		if run.Tick.At.Before(t.At) {
			run.Cancel(&attempt.StopError{Reason: ledger.Reason{Code: ledger.CodeReplaced, Details: &ledger.Details{Tick: t.At}}})
		}
	}
}

// replaceBegun cancels a run that begins if the tick that replaces it came meanwhile: the
// claim took long, or waited for the run of a dead replica. Catching up goes before the
// ticks that came meanwhile.
func (d *dispatcher) replaceBegun(begun *ticket) {
	if begun.run.Trigger == ledger.ByCatchUp {
		return
	}
	for _, l := range begun.owner.lanes {
		for _, t := range l.queue {
			d.replace(begun.owner, t)
		}
		if l.claiming != nil {
			d.replace(begun.owner, l.claiming.Tick)
		}
	}
}

// With the overlap policy allow a tick does not wait for earlier runs: each open tick has
// its own lock. Ticks are still claimed in order, one at a time, with tokens that grow, so
// a guard refuses the older of two runs once the newer has written. Runs that catch up
// overlap others, but not each other on one replica: so an outage is not followed by a
// flood.

// inTheWay is the run on this replica that blocks the attempt, nil if none does: one run at
// a time, unless they may overlap.
func (j *jobState) inTheWay(b *attempt.Brief, catchesUp bool) *attempt.Run {
	for _, t := range j.running {
		if !b.Beside() || catchesUp && t.run.CaughtUp {
			return t.run
		}
	}
	return nil
}
