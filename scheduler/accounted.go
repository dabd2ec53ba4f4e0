package scheduler

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// accounted returns, for each job that this replica may run, the first tick that is not
// decided yet. It leaves out jobs whose past nobody has read, unless other replicas have
// accounted for it: learned, by key.
func (e *engine) accounted(learned map[string]time.Time) accounts {
	now := e.clock.wall()
	all := accounts{until: make(map[string]time.Time, len(e.jobs))}
	for _, j := range e.jobs {
		if !job.Fits(e.cfg.Labels, j.Labels) {
			continue
		}
		if e.pastIsKnown(j, learned[j.StoredAs()]) {
			all.until[j.StoredAs()] = j.undecided(now)
		} else {
			all.behind = true
		}
	}
	return all
}

// An unread has the ends of the past spans that nobody has read yet, by job.
type unread map[*jobState][]time.Time

func (u *unread) add(j *jobState, before time.Time) {
	if *u == nil {
		*u = unread{}
	}
	(*u)[j] = append((*u)[j], before)
}

// drop removes the spans for which done returns true.
func (u *unread) drop(j *jobState, done func(before time.Time) bool) {
	left := slices.DeleteFunc((*u)[j], done)
	if len(left) > 0 {
		(*u)[j] = left
		return
	}
	if delete(*u, j); len(*u) == 0 {
		*u = nil // a map never shrinks
	}
}

// pastIsKnown reports whether everything is accounted for that came before this replica
// served the job, or while it slept. Other replicas have accounted for everything before
// learned.
func (e *engine) pastIsKnown(j *jobState, learned time.Time) bool {
	if len(e.unread[j]) > 0 {
		e.unread.drop(j, func(before time.Time) bool { return !before.After(learned) })
	}
	return len(e.unread[j]) == 0
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
