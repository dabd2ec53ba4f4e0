package scheduler

// With the overlap policy allow a tick does not wait for earlier runs: each open tick has
// its own lock. Ticks are still claimed in order, one at a time, with tokens that grow, so
// a guard refuses the older of two runs once the newer has written. Runs that catch up
// overlap others, but not each other on one replica: so an outage is not followed by a
// flood.

// beside reports whether the attempt's run may overlap others of its job.
func (b *brief) beside() bool { return b.job.Overlap.traits().beside }

// inTheWay is the run on this replica that blocks the attempt, nil if none does: one run at
// a time, unless they may overlap.
func (j *job) inTheWay(b *brief, catchesUp bool) *execution {
	for _, t := range j.running {
		if !b.beside() || catchesUp && t.run.caughtUp {
			return t.run
		}
	}
	return nil
}
