package scheduler

import (
	"slices"
	"time"
)

// accounted says how far the jobs are accounted for that this replica may run: up to the
// first tick that it has not decided yet. Of a job whose past nobody has looked up it says
// nothing, unless others have said how far they have: learned, by key.
func (e *engine) accounted(learned map[string]time.Time) accounts {
	now := e.clock.wall()
	all := accounts{until: make(map[string]time.Time, len(e.jobs))}
	for _, j := range e.jobs {
		if !fits(e.cfg.Labels, j.Labels) {
			continue
		}
		if e.pastIsKnown(j, learned[j.key()]) {
			all.until[j.key()] = j.undecided(now)
		} else {
			all.behind = true
		}
	}
	return all
}

// An unread is where pasts of jobs end that nobody has looked up yet.
type unread map[*job][]time.Time

// add notes a past.
func (u *unread) add(j *job, before time.Time) {
	if *u == nil {
		*u = unread{}
	}
	(*u)[j] = append((*u)[j], before)
}

// drop forgets the pasts that done is true of.
func (u *unread) drop(j *job, done func(before time.Time) bool) {
	left := slices.DeleteFunc((*u)[j], done)
	if len(left) > 0 {
		(*u)[j] = left
		return
	}
	if delete(*u, j); len(*u) == 0 {
		*u = nil // a map never shrinks
	}
}

// pastIsKnown tells whether all is accounted for that came before this replica served the
// job, or while it slept. Another one says that it has accounted for all up to learned.
func (e *engine) pastIsKnown(j *job, learned time.Time) bool {
	if len(e.unread[j]) > 0 {
		e.unread.drop(j, func(before time.Time) bool { return !before.After(learned) })
	}
	return len(e.unread[j]) == 0
}

// undecided is the first tick of the schedule that this replica has not decided, now if
// it has all that have come.
func (j *job) undecided(now time.Time) time.Time {
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
			earlier(l.queue[0].at)
		}
		if l.claiming != nil {
			earlier(l.claiming.tick.at)
		}
	}
	return first
}
