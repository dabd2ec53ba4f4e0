package presence

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/roster"
)

// The order of the live replicas for a tick. It is a hint: the claim decides.

// Eligible returns the ids of the replicas that may run a job with these labels.
func Eligible(replicas []roster.Replica, wants map[string]string) []string {
	var ids []string
	for _, r := range replicas {
		if job.Fits(r.Labels, wants) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// SameJobs returns the replicas that serve the same jobs as self; none if self is not
// listed.
func SameJobs(self string, replicas []roster.Replica) []roster.Replica {
	i := slices.IndexFunc(replicas, func(r roster.Replica) bool { return r.ID == self })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(replicas), func(r roster.Replica) bool { return r.ConfigHash != replicas[i].ConfigHash })
}

// RankAmong is the Rank of self among live replicas with the labels, and their number. Replicas
// with a skewed clock come after the others; lead is how far self's skewed clock is ahead.
func RankAmong(key string, tick time.Time, self string, labels map[string]string, live []roster.Replica) (rank, eligible int, lead time.Duration) {
	own := job.Weight(key, tick, self)
	right, before, skewedBefore := 0, 0, 0
	skewed := false
	for i := range live {
		r := &live[i]
		if r.ID == self {
			if skewed = r.State == roster.StateSkewed; skewed && r.ClockOffset != nil {
				lead = max(*r.ClockOffset, 0)
			}
		}
		if !job.Fits(r.Labels, labels) {
			continue
		}
		eligible++
		goesBefore := r.ID != self && job.Ahead(key, tick, r.ID, self, own)
		switch {
		case r.State == roster.StateSkewed && goesBefore:
			skewedBefore++
		case r.State != roster.StateSkewed:
			right++
			if goesBefore {
				before++
			}
		}
	}
	switch {
	case !skewed:
		return before, eligible, 0
	case right == 0:
		return skewedBefore, eligible, 0
	}
	return right + skewedBefore, eligible, lead
}
