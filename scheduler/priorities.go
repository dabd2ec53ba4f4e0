package scheduler

import (
	"cmp"
	"slices"

	"github.com/quorate/quorate/scheduler/internal/job"
)

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
