package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// accounted returns, for each job that this replica may run, the first tick that is not
// decided yet. It leaves out jobs whose past nobody has read, unless other replicas have
// accounted for it: learned, by key.
func (e *engine) accounted(learned map[string]time.Time) roster.Accounts {
	now := e.clock.wall()
	all := roster.Accounts{First: e.ready, Until: make(map[string]time.Time, len(e.jobs.list))}
	for _, j := range e.jobs.list {
		if !job.Fits(e.cfg.Labels, j.Labels) {
			continue
		}
		if e.pasts.known(j, learned[j.StoredAs()]) {
			all.Until[j.StoredAs()] = j.undecided(now)
		} else {
			all.Behind = true
		}
	}
	return all
}

// undecided is the first tick of the schedule that this replica has not decided, or now if
// there is none.
func (j *jobState) undecided(now time.Time) time.Time {
	first := now
	earlier := func(at time.Time) {
		if !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	earlier(j.next.at)
	for _, l := range j.lanes {
		if l.stream != "" {
			continue
		}
		if len(l.queue) > 0 {
			earlier(l.queue[0].At)
		}
		if l.claiming != nil {
			earlier(l.claiming.Tick.At)
		}
	}
	return first
}
