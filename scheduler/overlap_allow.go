package scheduler

import "fmt"

// With the overlap policy allow a tick does not wait for earlier runs: each open
// tick has a share of the job's lock of its own. Ticks are still claimed in order,
// one at a time, with tokens that grow, so a guard refuses the older of two runs
// once the newer has written. What is caught up runs beside others, but not
// beside what else is caught up on this replica: an outage is not followed by a
// flood.

// beside tells whether the attempt's run may go on beside others of its job.
func (a *attempt) beside() bool { return a.job.Overlap == OverlapAllow }

// inTheWay is the run that keeps the attempt from starting another on this
// replica, nil if none does: one run at a time, unless they may overlap.
func (j *job) inTheWay(a *attempt) *attempt {
	for _, run := range j.running {
		if !a.beside() || a.caughtUp && run.caughtUp {
			return run
		}
	}
	return nil
}

// validateAllow refuses to promise that a run which died is run again where its
// successor may have been claimed: then no node lets it be.
func (j *Job) validateAllow() error {
	if j.Overlap != OverlapAllow || j.OnCrash != CrashRerun {
		return nil
	}
	return fmt.Errorf("scheduler: job %q has overlap %q and on-crash %q: a tick cannot be run again once a later one was claimed, so choose one of the two", j.Name, j.Overlap, j.OnCrash)
}
