package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Diff is what an update changes. Every list is sorted by the names that the jobs have
// afterwards; for removed jobs, before.
type Diff struct {
	Added   []string
	Changed []string // the same job with another Hash
	Renamed []Rename // the same Key under another name; also in Changed if more changes
	Removed []string
	// Settings returns the Job.Settings of a job in Changed, before and after.
	Settings func(job string) (before, after any)
}

// A Rename is a job with a new name.
type Rename struct{ From, To string }

// Empty reports whether nothing changes.
func (d Diff) Empty() bool {
	return len(d.Added)+len(d.Changed)+len(d.Renamed)+len(d.Removed) == 0
}

// String lists what changes in one line.
func (d Diff) String() string {
	var parts []string
	say := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	say("added", d.Added)
	say("changed", d.Changed)
	for _, r := range d.Renamed {
		parts = append(parts, fmt.Sprintf("renamed %s to %s", r.From, r.To))
	}
	say("removed", d.Removed)
	if len(parts) == 0 {
		return "nothing changed"
	}
	return strings.Join(parts, "; ")
}

// jobChanges are the changes from one set of jobs to another, job by job.
type jobChanges struct {
	added   []*Job
	kept    []*Job // in both, as they are afterwards
	changed []bool
	removed []*Job
	Diff
}

// compareJobs returns the changes from before to after. Both are hashed. Jobs are the same
// if their keys are.
func compareJobs(before map[string]*Job, after []*Job) jobChanges {
	var a jobChanges
	versions := map[string][2]*Job{}
	a.Settings = func(job string) (before, after any) {
		v := versions[job]
		return v[0].settings(), v[1].settings()
	}
	in := make(map[string]bool, len(after))
	for _, j := range after {
		in[j.Key] = true
		was, ok := before[j.Key]
		if !ok {
			a.added = append(a.added, j)
			a.Added = append(a.Added, j.Name)
			continue
		}
		if was.Name != j.Name {
			a.Renamed = append(a.Renamed, Rename{was.Name, j.Name})
		}
		changed := was.Hash != j.Hash
		if changed {
			a.Changed, versions[j.Name] = append(a.Changed, j.Name), [2]*Job{was, j}
		}
		a.kept, a.changed = append(a.kept, j), append(a.changed, changed || was.Name != j.Name)
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if j := before[key]; !in[key] {
			a.removed = append(a.removed, j)
			a.Removed = append(a.Removed, j.Name)
		}
	}
	for _, names := range [][]string{a.Added, a.Changed, a.Removed} {
		slices.Sort(names)
	}
	slices.SortFunc(a.Renamed, func(x, y Rename) int { return strings.Compare(x.To, y.To) })
	return a
}
