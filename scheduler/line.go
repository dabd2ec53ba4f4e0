package scheduler

import (
	"cmp"
	"slices"
)

// A place in line is what the loop says to an attempt that waits for a slot.
type inLine struct {
	behind bool // somebody on this replica goes first
	above  int  // larger priorities that jobs of the group have
}

// queue puts the attempt in the line of its group on this replica, if it does
// not stand there yet, and says where it stands.
func (a *attempt) queue() inLine {
	said, _ := a.consult(progress{phase: queuing})
	return said.line
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

// ladders are the priorities that jobs have, the largest first: those of each
// group, and of all jobs. They are made when they are needed, from all jobs, and
// dropped when these change.
type ladders map[string][]int

// everyGroup is the key of all jobs in ladders.
const everyGroup = ""

// above counts the larger priorities that jobs of the group have.
func (e *engine) above(j *Job, group string) int {
	if e.larger == nil {
		e.larger = ladders{}
		for _, other := range e.jobs {
			e.larger.add(everyGroup, other.Priority)
			if other.Group != everyGroup {
				e.larger.add(other.Group, other.Priority)
			}
		}
	}
	above, _ := slices.BinarySearchFunc(e.larger[group], j.Priority, descending)
	return above
}

func (l ladders) add(group string, priority int) {
	if i, has := slices.BinarySearchFunc(l[group], priority, descending); !has {
		l[group] = slices.Insert(l[group], i, priority)
	}
}

func descending(a, b int) int { return cmp.Compare(b, a) }

// leaveLine forgets an attempt that has a slot, or needs none any more.
func (e *engine) leaveLine(t *ticket) {
	e.queuing = slices.DeleteFunc(e.queuing, func(other *ticket) bool { return other == t })
}
