package scheduler

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// jobChanges are the changes from one set of jobs to another, job by job.
type jobChanges struct {
	added   []*job.Job
	kept    []*job.Job // in both, as they are afterwards
	changed []bool
	removed []*job.Job
	Diff
}

// compareJobs returns the changes from before to after. Both are hashed. Jobs are the same
// if their keys are.
func compareJobs(before map[string]*job.Job, after []*job.Job) jobChanges {
	var a jobChanges
	versions := map[string][2]*job.Job{}
	a.Settings = func(job string) (before, after any) {
		v := versions[job]
		return v[0].ShownSettings(), v[1].ShownSettings()
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
			a.Renamed = append(a.Renamed, Rename{From: was.Name, To: j.Name})
		}
		changed := was.Hash != j.Hash
		if changed {
			a.Changed, versions[j.Name] = append(a.Changed, j.Name), [2]*job.Job{was, j}
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
