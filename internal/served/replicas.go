package served

import (
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// Calm is how long no replica starts, stops or drains, and neither of two changes its jobs, until
// different jobs under one name are told: during a roll-out there are some.
const Calm = 2 * time.Minute

// Strangers returns, for each of the live replicas, the jobs that another one serves in another way,
// by name, sorted. There are none while a start, a drain or a change of jobs may explain it.
// read returns a set of jobs; those that cannot be read are not compared.
func Strangers(live []roster.Replica, now time.Time, read func(hash string) (roster.JobSet, error)) [][]string {
	names := make([][]string, len(live))
	first := make([]int, len(live)) // the first replica with the same program and set
	for i, r := range live {
		if r.State == roster.StateDraining || now.Sub(r.Started) < Calm {
			return make([][]string, len(live))
		}
		first[i] = slices.IndexFunc(live, func(k roster.Replica) bool { return k.Program == r.Program && k.ConfigHash == r.ConfigHash })
		for j := range first[:i] {
			if first[i] != i || first[j] != j || !MayBeApart(live[j], r, now) {
				continue
			}
			apart, _ := Apart(live[j], r, read)
			names[i], names[j] = append(names[i], apart...), append(names[j], apart...)
		}
	}
	for i := range names {
		names[i] = slices.Clone(names[first[i]])
		slices.Sort(names[i])
		names[i] = slices.Compact(names[i])
	}
	return names
}

// OtherPrograms reports whether two replicas run different programs, as far as they say so.
func OtherPrograms(a, b roster.Replica) bool {
	return a.Program != b.Program && a.Program != "" && b.Program != ""
}

// MayBeApart reports whether two live replicas may serve jobs in different ways, and neither has
// changed its jobs so lately that this explains it.
func MayBeApart(a, b roster.Replica, now time.Time) bool {
	return OtherPrograms(a, b) || a.ConfigHash != b.ConfigHash && now.Sub(a.ConfigSince) >= Calm && now.Sub(b.ConfigSince) >= Calm
}

// Apart returns the names of the jobs that two replicas serve in different ways, sorted: all that both
// have if they run different programs, else those with another definition or function.
func Apart(a, b roster.Replica, read func(hash string) (roster.JobSet, error)) ([]string, error) {
	ours, err := whole(a, read)
	if err != nil {
		return nil, err
	}
	theirs, err := whole(b, read)
	if err != nil {
		return nil, err
	}
	mine := make(map[string]roster.JobText, len(ours.Jobs))
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

// Alone returns, for each of the replicas that take ticks, at least one, the jobs that none of the others may run: they
// do not serve them, or lack a label. Its error is of a set that cannot be read.
func Alone(takers []roster.Replica, read func(hash string) (roster.JobSet, error)) ([][]string, error) {
	names := make([][]string, len(takers))
	if takers[0].ConfigHash != "" && !slices.ContainsFunc(takers, func(r roster.Replica) bool {
		return r.ConfigHash != takers[0].ConfigHash || !maps.Equal(r.Labels, takers[0].Labels)
	}) {
		return names, nil
	}
	may := map[string][]int{} // by key, the replicas that may run a job
	sets := map[string]roster.JobSet{}
	called := map[string]string{}
	for i, r := range takers {
		if _, known := sets[r.ConfigHash]; !known {
			set, err := whole(r, read)
			if err != nil {
				return nil, err
			}
			sets[r.ConfigHash] = set
		}
		for _, j := range sets[r.ConfigHash].Jobs {
			if called[j.Key] = j.Name; fits(r.Labels, j) {
				may[j.Key] = append(may[j.Key], i)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(may)) {
		if of := may[key]; len(of) == 1 {
			names[of[0]] = append(names[of[0]], called[key])
		}
	}
	return names, nil
}

// fits reports whether a replica has the labels that a job requires.
func fits(has map[string]string, j roster.JobText) bool {
	settings, _ := j.Settings.(map[string]any)
	wants, _ := settings["labels"].(map[string]any)
	for key, value := range wants {
		if have, ok := has[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// whole returns the set of jobs that a replica serves.
func whole(r roster.Replica, read func(hash string) (roster.JobSet, error)) (roster.JobSet, error) {
	set, err := read(r.ConfigHash)
	if err == nil && len(set.Jobs) < set.Count {
		err = roster.ErrSetTooLarge
	}
	return set, err
}
