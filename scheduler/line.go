package scheduler

import "slices"

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
	return inLine{behind: behind, above: e.above(a.job, func(j *Job) bool { return j.Group == a.job.Group })}
}

// above counts the larger priorities that jobs which compete with j have.
func (e *engine) above(j *Job, competes func(*Job) bool) int {
	larger := map[int]bool{}
	for _, other := range e.jobs {
		if other.Priority > j.Priority && competes(other.Job) {
			larger[other.Priority] = true
		}
	}
	return len(larger)
}

// leaveLine forgets an attempt that has a slot, or needs none any more.
func (e *engine) leaveLine(a *attempt) {
	e.queuing = slices.DeleteFunc(e.queuing, func(b *attempt) bool { return b == a })
}
