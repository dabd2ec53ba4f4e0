package scheduler

import (
	"slices"

	"github.com/quorate/quorate/scheduler/internal/attempt"
)

// A line has the attempts that have claimed a tick and wait for a slot.
type line []*ticket

// join puts an attempt into the line, and reports whether another one of its group goes
// first.
func (l *line) join(t *ticket) (behind bool) {
	if !slices.Contains(*l, t) {
		*l = append(*l, t)
	}
	return slices.ContainsFunc(*l, func(other *ticket) bool {
		return other.Job.Group == t.Job.Group && attempt.Order(other.Brief, t.Brief) < 0
	})
}

// leave removes an attempt that has a slot, or needs none any more.
func (l *line) leave(t *ticket) {
	*l = slices.DeleteFunc(*l, func(other *ticket) bool { return other == t })
}
