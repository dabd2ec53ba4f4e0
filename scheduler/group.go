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

// A group bounds how many runs of the jobs that name it go on at once in the
// whole cluster. It has numbered slots, each of them a plain lock: a run holds
// one, and keeps it by extending it, so that the slot of a replica that died is
// free again when its lease ends.
//
// Replicas that have another size for it, as during a roll-out, share the slots
// with the smaller numbers: at most as many runs go on as the largest size says.

// slotName is the name under which the nodes keep a slot. Jobs have no colon in
// their names, so it is no job's.
func slotName(group string, number int) string {
	return "group:" + group + ":" + strconv.Itoa(number)
}

// validateGroups says what is wrong with the groups that jobs name.
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
	holders []string // of the slots that somebody holds
	behind  bool     // nobody was asked, for others on this replica go first
}

// Error names the holders.
func (e *fullError) Error() string { return e.reason().String() }

// reason is why a tick is skipped.
func (e *fullError) reason() ledger.Reason {
	d := ledger.Details{Of: e.group, N: len(e.holders), Most: e.size, Holder: strings.Join(slices.Sorted(slices.Values(e.holders)), ", ")}
	switch {
	case e.behind:
		return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantInLine, Details: &d}
	case d.N < d.Most: // others are after the rest at this moment
		return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantTaken, Details: &d}
	}
	return ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantFull, Details: &d}
}

// noSlot is the verdict on a tick whose window closes when err was the last
// refusal of a slot.
func noSlot(err error, t tick) verdict {
	if full, ok := errors.AsType[*fullError](err); ok {
		return because(ledger.Skipped, full.reason())
	}
	v := atWindowEnd(err, t)
	unasked := v.reason
	v.reason = ledger.Reason{Code: ledger.CodeLimit, Variant: ledger.VariantSlot, Details: &ledger.Details{With: &unasked}}
	return v
}

// holder is who has a slot, as far as its refusal says.
func holder(err error) string {
	if refused, ok := errors.AsType[*locking.AcquireError](err); ok {
		return who(refused.Holder)
	}
	return who("")
}
