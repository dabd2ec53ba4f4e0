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
	if !a.consult(progress{attempt: a, phase: queuing}) {
		return inLine{}
	}
	return a.line
}

// inLine answers an attempt that queues for a slot.
func (e *engine) inLine(a *attempt) inLine {
	if !slices.Contains(e.queuing, a) {
		e.queuing = append(e.queuing, a)
	}
	behind := slices.ContainsFunc(e.queuing, func(b *attempt) bool {
		return b.job.Group == a.job.Group && turn(b, a) < 0
	})
	return inLine{behind: behind, above: e.above(a.job, a.job.Group)}
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
func (e *engine) leaveLine(a *attempt) {
	e.queuing = slices.DeleteFunc(e.queuing, func(b *attempt) bool { return b == a })
}
