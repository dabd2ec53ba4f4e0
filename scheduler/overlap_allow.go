package scheduler

// With the overlap policy allow a tick does not wait for earlier runs: each open
// tick has a lock of its own. Ticks are still claimed in order,
// one at a time, with tokens that grow, so a guard refuses the older of two runs
// once the newer has written. What is caught up runs beside others, but not
// beside what else is caught up on this replica: an outage is not followed by a
// flood.

// beside tells whether the attempt's run may go on beside others of its job.
func (b *brief) beside() bool { return b.job.Overlap.traits().beside }

// inTheWay is the run that keeps an attempt from starting another on this replica, nil if
// none does: one run at a time, unless they may overlap.
func (j *job) inTheWay(b *brief, catchesUp bool) *execution {
	for _, t := range j.running {
		if !b.beside() || catchesUp && t.run.caughtUp {
			return t.run
		}
	}
	return nil
}
