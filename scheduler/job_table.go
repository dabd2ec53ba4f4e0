package scheduler

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// A jobState is the engine's state of one Job.
type jobState struct {
	*job.Job     // for attempts that start now; earlier ones keep theirs
	next     due // the queued tick; zero if it never fires again
	position int // in the table's dueQueue, if it has a next tick
	index    int // in the table's list

	queues  []*tickQueue
	running []*ticket // oldest first
}

// busy reports whether the job has runs or attempts.
func (j *jobState) busy() bool {
	return len(j.running) > 0 || slices.ContainsFunc(j.queues, func(q *tickQueue) bool { return q.claiming != nil })
}

// A jobTable has the jobs that the loop serves.
type jobTable struct {
	list       []*jobState // in no order
	leaving    []*jobState // removed, but still busy
	due        dueQueue
	priorities priorities
}

// add adds a job and its next tick.
func (t *jobTable) add(j *jobState) {
	j.index = len(t.list)
	t.list = append(t.list, j)
	if !j.next.isZero() {
		heap.Push(&t.due, j)
	}
}

// remove removes a job and its next tick.
func (t *jobTable) remove(j *jobState) {
	t.reschedule(j, due{})
	last := t.list[len(t.list)-1]
	t.list[j.index], last.index = last, j.index
	t.list[len(t.list)-1] = nil
	t.list = t.list[:len(t.list)-1]
	if j.busy() {
		t.leaving = append(t.leaving, j)
	}
}

// returning returns a removed job with the key that is still busy, nil if there is none.
// The caller adds it again.
func (t *jobTable) returning(key string) *jobState {
	i := slices.IndexFunc(t.leaving, func(j *jobState) bool { return j.Key == key })
	if i < 0 {
		return nil
	}
	back := t.leaving[i]
	t.leaving = slices.Delete(t.leaving, i, i+1)
	return back
}

// dropIfIdle drops a removed job that is no longer busy.
func (t *jobTable) dropIfIdle(j *jobState) {
	if len(t.leaving) > 0 && !j.busy() {
		t.leaving = slices.DeleteFunc(t.leaving, func(l *jobState) bool { return l == j })
	}
}

// serves reports whether the job was not removed.
func (t *jobTable) serves(j *jobState) bool { return j.index < len(t.list) && t.list[j.index] == j }

// keyed returns the job with the key, nil if there is none.
func (t *jobTable) keyed(key string) *jobState {
	for _, j := range t.list {
		if j.StoredAs() == key {
			return j
		}
	}
	return nil
}

// all returns the jobs and the removed ones that are still busy.
func (t *jobTable) all() []*jobState { return slices.Concat(t.list, t.leaving) }

// running returns the names of the jobs that run, sorted.
func (t *jobTable) running() []string {
	var names []string
	for _, j := range t.all() {
		if len(j.running) > 0 {
			names = append(names, j.Name)
		}
	}
	slices.Sort(names)
	return names
}

// reschedule sets the job's next tick, if any.
func (t *jobTable) reschedule(j *jobState, next due) {
	had := !j.next.isZero()
	switch j.next = next; {
	case had && next.isZero():
		heap.Remove(&t.due, j.position)
	case had:
		heap.Fix(&t.due, j.position)
	case !next.isZero():
		heap.Push(&t.due, j)
	}
}

// replan computes next ticks again after the wall clock was set back. The nodes refuse
// repeated ticks as done.
func (t *jobTable) replan(now time.Time, window time.Duration) {
	for _, j := range t.list {
		next := dueOf(j.FirstAfter(now, window))
		if !next.isZero() && (j.next.isZero() || next.at.Before(j.next.at)) {
			t.reschedule(j, next)
		}
	}
}

// priorities are those of all jobs and of each group, the largest first. They are computed
// from all jobs when needed, and dropped when the jobs change.
type priorities map[string][]int

// everyGroup is the key of all jobs in priorities.
const everyGroup = ""

// above counts the larger priorities of jobs in the group.
func (t *jobTable) above(j *job.Job, group string) int {
	if t.priorities == nil {
		t.priorities = priorities{}
		for _, other := range t.list {
			t.priorities.add(everyGroup, other.Priority)
			if other.Group != everyGroup {
				t.priorities.add(other.Group, other.Priority)
			}
		}
	}
	above, _ := slices.BinarySearchFunc(t.priorities[group], j.Priority, descending)
	return above
}

func (l priorities) add(group string, priority int) {
	if i, has := slices.BinarySearchFunc(l[group], priority, descending); !has {
		l[group] = slices.Insert(l[group], i, priority)
	}
}

func descending(a, b int) int { return cmp.Compare(b, a) }
