package scheduler

import (
	"cmp"
	"slices"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// inLine answers an attempt that queues for a slot.
func (e *engine) inLine(t *ticket) attempt.InLine {
	if !slices.Contains(e.queuing, t) {
		e.queuing = append(e.queuing, t)
	}
	behind := slices.ContainsFunc(e.queuing, func(other *ticket) bool {
		return other.Job.Group == t.Job.Group && attempt.Order(other.Brief, t.Brief) < 0
	})
	return attempt.InLine{Behind: behind, Above: e.above(t.Job, t.Job.Group)}
}

// priorities are those of all jobs and of each group, the largest first. They are computed
// from all jobs when needed, and dropped when the jobs change.
type priorities map[string][]int

// everyGroup is the key of all jobs in priorities.
const everyGroup = ""

// above counts the larger priorities of jobs in the group.
func (e *engine) above(j *job.Job, group string) int {
	if e.priorities == nil {
		e.priorities = priorities{}
		for _, other := range e.jobs {
			e.priorities.add(everyGroup, other.Priority)
			if other.Group != everyGroup {
				e.priorities.add(other.Group, other.Priority)
			}
		}
	}
	above, _ := slices.BinarySearchFunc(e.priorities[group], j.Priority, descending)
	return above
}

func (l priorities) add(group string, priority int) {
	if i, has := slices.BinarySearchFunc(l[group], priority, descending); !has {
		l[group] = slices.Insert(l[group], i, priority)
	}
}

func descending(a, b int) int { return cmp.Compare(b, a) }

// leaveLine removes an attempt that has a slot, or needs none any more.
func (e *engine) leaveLine(t *ticket) {
	e.queuing = slices.DeleteFunc(e.queuing, func(other *ticket) bool { return other == t })
}
