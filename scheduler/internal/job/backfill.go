package job

import "github.com/quorate/quorate/scheduler/acts"

// The ticks of a backfill are claimed one after the other. Where runs may overlap, all of
// them would run at once, so these runs share slots like those of a group (attempt/slots.go). A
// backfill yields to all other ticks: to scheduled ticks of the job (mustYield in scheduler), and to
// attempts that wait for a slot of the same group.

// Backfilling returns the job for an attempt of t. A backfill of a job in a group uses the
// first slots only, so it keeps within both limits.
func (j *Job) Backfilling(t Tick) *Job {
	if t.Stream != acts.StreamBackfill || !j.Traits().Beside {
		return j
	}
	most := max(1, t.Act.Concurrency) // an older release may have written 0
	bounded := *j
	if j.Group == "" {
		bounded.Group, bounded.GroupSize = backfillGroup(j.StoredAs()), most
	}
	bounded.GroupSize = min(bounded.GroupSize, most)
	return &bounded
}

// backfillGroup is the group of a job's backfills if the job has none.
func backfillGroup(key string) string { return "backfill:" + key }

// BackfillSlots returns the names of the locks that backfills of the job may have used.
// They are deleted with the job.
func BackfillSlots(key string) []string {
	var names []string
	for n := range acts.MaxConcurrency {
		names = append(names, SlotName(backfillGroup(key), n))
	}
	return names
}
