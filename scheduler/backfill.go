package scheduler

import "github.com/quorate/quorate/scheduler/acts"

// The ticks of a backfill are claimed one after the other, and most jobs run one at
// a time, so that their backfills do, too. Where runs may overlap all ticks would run
// at once: there the runs share slots, like those of a group (slots.go). A backfill
// yields to everything else: to scheduled ticks of the job (job.mustYield), and where
// others wait for a slot of the same group (turn).

// backfilling is the job as an attempt for t takes it: of a job in a group, a
// backfill uses the first slots only, so that it stays within both limits.
func (j *Job) backfilling(t tick) *Job {
	if t.stream != acts.StreamBackfill || !j.Overlap.traits().beside {
		return j
	}
	most := max(1, t.act.Concurrency) // an older release may have asked
	bounded := *j
	if j.Group == "" {
		bounded.Group, bounded.GroupSize = backfillGroup(j.key()), most
	}
	bounded.GroupSize = min(bounded.GroupSize, most)
	return &bounded
}

// backfillGroup is the group of a job's backfills where it has none of its own.
func backfillGroup(key string) string { return "backfill:" + key }

// BackfillSlots are the names of the locks that backfills of the job with the key
// may have used, and that go with it.
func BackfillSlots(key string) []string {
	var names []string
	for n := range acts.MaxConcurrency {
		names = append(names, slotName(backfillGroup(key), n))
	}
	return names
}

// backfills is 1 for an attempt that does, 0 for others.
func (b *brief) backfills() int {
	if b.tick.stream == acts.StreamBackfill {
		return 1
	}
	return 0
}
