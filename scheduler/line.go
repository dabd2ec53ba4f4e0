package scheduler

import (
	"cmp"
	"slices"
)

// inLine is the loop's answer to an attempt that waits for a slot.
type inLine struct {
	behind bool // another attempt on this replica goes first
	above  int  // the number of larger priorities in the group
}

// queue adds the attempt to its group's line on this replica, if needed, and returns its
// place.
func (a *attempt) queue() inLine {
	reply, _ := a.consult(progress{phase: queuing})
	return reply.line
}

// inLine answers an attempt that queues for a slot.
func (e *engine) inLine(t *ticket) inLine {
	if !slices.Contains(e.queuing, t) {
		e.queuing = append(e.queuing, t)
	}
	behind := slices.ContainsFunc(e.queuing, func(other *ticket) bool {
		return other.job.Group == t.job.Group && turn(other.brief, t.brief) < 0
	})
	return inLine{behind: behind, above: e.above(t.job, t.job.Group)}
}

// priorities are those of all jobs and of each group, the largest first. They are computed
// from all jobs when needed, and dropped when the jobs change.
type priorities map[string][]int

// everyGroup is the key of all jobs in priorities.
const everyGroup = ""

// above counts the larger priorities of jobs in the group.
func (e *engine) above(j *Job, group string) int {
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
