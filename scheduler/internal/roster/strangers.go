package roster

import (
	"errors"
	"slices"
	"time"
)

// Calm is how long no replica starts, stops or drains, and neither of two changes its jobs, until
// different jobs under one name are told: during a roll-out there are some.
const Calm = 2 * time.Minute

// ErrSetTooLarge: a set of jobs is stored without its jobs.
var ErrSetTooLarge = errors.New("the set of jobs is too large to be kept")

// A Stranger is a live replica beside another one that serves other jobs under the same names.
type Stranger struct {
	Replica, Beside Replica
	Jobs            []string // their names, sorted
}

// Strangers returns those of the live replicas, one for each program and set of jobs, once no start,
// drain or change of jobs explains them. read returns a set of jobs; those that cannot be read are
// not compared.
func Strangers(live []Replica, now time.Time, read func(hash string) (JobSet, error)) (found []Stranger) {
	var kinds []Replica // the first one of each program and set
	for _, r := range live {
		if r.State == StateDraining || now.Sub(r.Started) < Calm {
			return nil
		}
		if !slices.ContainsFunc(kinds, func(k Replica) bool { return k.Program == r.Program && k.ConfigHash == r.ConfigHash }) {
			kinds = append(kinds, r)
		}
	}
	for i, r := range kinds {
		for _, beside := range kinds[:i] {
			if !MayBeApart(beside, r, now) {
				continue
			}
			if names, _ := Apart(beside, r, read); len(names) > 0 {
				found = append(found, Stranger{r, beside, names})
			}
		}
	}
	return found
}

// OtherPrograms reports whether two replicas run different programs, as far as they say so.
func OtherPrograms(a, b Replica) bool {
	return a.Program != b.Program && a.Program != "" && b.Program != ""
}

// MayBeApart reports whether two live replicas may serve jobs in different ways, and neither has
// changed its jobs so lately that this explains it.
func MayBeApart(a, b Replica, now time.Time) bool {
	return OtherPrograms(a, b) || a.ConfigHash != b.ConfigHash && now.Sub(a.ConfigSince) >= Calm && now.Sub(b.ConfigSince) >= Calm
}

// Apart returns the names of the jobs that two replicas serve in different ways, sorted: all that both
// have if they run different programs, else those with another definition or function.
func Apart(a, b Replica, read func(hash string) (JobSet, error)) ([]string, error) {
	ours, err := whole(a, read)
	if err != nil {
		return nil, err
	}
	theirs, err := whole(b, read)
	if err != nil {
		return nil, err
	}
	mine := make(map[string]JobText, len(ours.Jobs))
	for _, j := range ours.Jobs {
		mine[j.Key] = j
	}
	var names []string
	for _, j := range theirs.Jobs {
		if have, both := mine[j.Key]; both && (OtherPrograms(a, b) || have.Hash != j.Hash || have.Code != j.Code) {
			names = append(names, have.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// whole returns the set of jobs that a replica serves.
func whole(r Replica, read func(hash string) (JobSet, error)) (JobSet, error) {
	set, err := read(r.ConfigHash)
	if err == nil && len(set.Jobs) < set.Count {
		err = ErrSetTooLarge
	}
	return set, err
}
