package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A group bounds how many runs of its jobs the cluster has at once. It has numbered slots,
// each a plain lock. A run holds and extends one, so the slot of a dead replica is free
// again when its lease ends.
//
// Replicas with another size for the group, as during a roll-out, share the slots with
// smaller numbers: the largest size bounds the runs.

// slotName is the name of a slot's lock. Job names have no colon, so it is no job's.
func slotName(group string, number int) string {
	return "group:" + group + ":" + strconv.Itoa(number)
}

// validateGroups returns what is wrong with the jobs' groups.
func validateGroups(list []Job) error {
	var errs []error
	first := map[string]Job{}
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

// A fullError says that a group has no free slot.
type fullError struct {
	group   string
	size    int
	holders []string // of the slots that are held
	behind  bool     // not asked: others on this replica go first
}

func (e *fullError) Error() string { return e.reason().String() }

// reason is why a tick is skipped.
func (e *fullError) reason() ledger.Reason {
	d := ledger.Details{Of: e.group, N: len(e.holders), Most: e.size, Holder: strings.Join(slices.Sorted(slices.Values(e.holders)), ", ")}
	switch {
	case e.behind:
		return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantInLine, Details: &d}
	case d.N < d.Most: // other replicas try for the rest at this moment
		return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantTaken, Details: &d}
	}
	return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantFull, Details: &d}
}

// noSlot is the verdict on a tick whose window closes; err was the last refusal of a slot.
func noSlot(err error, t tick) verdict {
	if full, ok := errors.AsType[*fullError](err); ok {
		return because(ledger.Skipped, full.reason())
	}
	v := atWindowEnd(err, t)
	unasked := v.reason
	v.reason = ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantSlot, Details: &ledger.Details{With: &unasked}}
	return v
}

// holder is the holder of a slot, as far as its refusal says.
func slotHolder(err error) string {
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		return orAnotherReplica(refused.Holder)
	}
	return orAnotherReplica("")
}
