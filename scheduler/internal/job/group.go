package job

import (
	"errors"
	"fmt"
	"strconv"
)

// A group bounds how many runs of its jobs the cluster has at once. It has numbered slots,
// each a plain lock. A run holds and extends one, so the slot of a dead replica is free
// again when its lease ends.
//
// Replicas with another size for the group, as during a roll-out, share the slots with
// smaller numbers: the largest size bounds the runs.

// SlotName is the name of a slot's lock. Job names have no colon, so it is no job's.
func SlotName(group string, number int) string {
	return "group:" + group + ":" + strconv.Itoa(number)
}

// validateGroups returns what is wrong with the jobs' groups.
func validateGroups(list []Definition) error {
	var errs []error
	first := map[string]Definition{}
	for _, j := range list {
		if j.Group == "" {
			continue
		}
		if j.GroupSize < 1 {
			errs = append(errs, fmt.Errorf("scheduler: job %q is in group %q of size %d: it needs at least 1", j.Name, j.Group, j.GroupSize))
		}
		if other, seen := first[j.Group]; seen && other.GroupSize != j.GroupSize {
			errs = append(errs, fmt.Errorf("scheduler: group %q has size %d for job %q and %d for job %q: give it one",
				j.Group, other.GroupSize, other.Name, j.GroupSize, j.Name))
		} else if !seen {
			first[j.Group] = j
		}
	}
	return errors.Join(errs...)
}
