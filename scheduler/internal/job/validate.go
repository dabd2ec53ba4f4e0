package job

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/schedule"
)

// Validate returns everything that is wrong with the list.
func Validate(list []jobs.Job) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("scheduler: "+format, args...)) }
	seen := make(map[string]bool, len(list))
	for i := range list {
		j := &list[i]
		switch {
		case j.Name == "":
			wrong("job %d has no name", i+1)
		case seen[j.Name]:
			wrong("job %q is listed twice", j.Name)
		case j.Handler == nil:
			wrong("job %q has no handler", j.Name)
		case j.Timeout < 0:
			wrong("job %q has timeout %v: it must not be negative", j.Name, j.Timeout)
		}
		if s, err := ticksOf(j); err != nil {
			wrong("job %q: %w", j.Name, err)
		} else if s == nil {
			wrong("job %q has no schedule", j.Name)
		}
		seen[j.Name] = true
		validatePolicies(j, wrong)
		validateRetry(j, wrong)
	}
	validateKeys(list, wrong)
	validateGroups(list, wrong)
	validateChains(list, wrong)
	return errors.Join(errs...)
}

// ticksOf is the schedule of a job; nil if it has none.
func ticksOf(j *jobs.Job) (schedule.Schedule, error) {
	if j.Schedule != nil || j.Spec == "" {
		return j.Schedule, nil
	}
	zone, err := schedule.LoadZone(j.Timezone)
	if err != nil {
		return nil, err
	}
	return schedule.Parse(j.Spec, schedule.Options{Location: zone, Name: j.StoredAs()})
}

// validatePolicies reports policies that are unknown, impossible, or contradict each other.
func validatePolicies(j *jobs.Job, wrong func(format string, args ...any)) {
	oneOf := func(policy, value string, known []string) {
		if value != "" && !slices.Contains(known, value) {
			wrong("job %q has %s %q: write one of %q", j.Name, policy, value, known)
		}
	}
	oneOf("overlap", string(j.Overlap), j.Overlap.Values())
	oneOf("on_crash", string(j.OnCrash), j.OnCrash.Values())
	oneOf("catch-up mode", string(j.CatchUp.Mode), j.CatchUp.Mode.Values())
	if err := j.Overlap.With(j.OnCrash); err != nil {
		wrong("job %q has an overlap policy that conflicts: %w", j.Name, err)
	}
	if window := j.CatchUp.Window; window < 0 {
		wrong("job %q has catch-up window %v: it must be positive", j.Name, window)
	}
	if most := j.CatchUp.Max; most < 0 {
		wrong("job %q has catch-up max %v: it must be positive", j.Name, most)
	}
}

func validateRetry(j *jobs.Job, wrong func(format string, args ...any)) {
	switch r := j.Retry.WithDefaults(); {
	case r.Attempts < 0:
		wrong("job %q has %d attempts: it needs at least one", j.Name, r.Attempts)
	case r.Backoff < 0 || r.MaxBackoff < r.Backoff:
		wrong("job %q has a backoff from %v to %v: use positive durations, the smaller one first", j.Name, r.Backoff, r.MaxBackoff)
	}
}

// validateKeys checks that keys are unique.
func validateKeys(list []jobs.Job, wrong func(format string, args ...any)) {
	names, keys := make(map[string]bool, len(list)), make(map[string]string, len(list))
	for _, j := range list {
		if other, ok := keys[j.StoredAs()]; ok && other != j.Name {
			wrong("jobs %q and %q have the same key, %q: one of them is another job", other, j.Name, j.StoredAs())
		}
		names[j.Name], keys[j.StoredAs()] = true, j.Name
	}
	for _, j := range list {
		if j.StoredAs() != j.Name && names[j.Key] {
			wrong("job %q has key %q, which is the name of another job: give that one another name", j.Name, j.Key)
		}
	}
}

// validateGroups checks that each group has one size.
func validateGroups(list []jobs.Job, wrong func(format string, args ...any)) {
	first := map[string]jobs.Job{}
	for _, j := range list {
		if j.Group == "" {
			continue
		}
		if j.GroupSize < 1 {
			wrong("job %q is in group %q of size %d: it needs at least 1", j.Name, j.Group, j.GroupSize)
		}
		if other, seen := first[j.Group]; seen && other.GroupSize != j.GroupSize {
			wrong("group %q has size %d for job %q and %d for job %q: give it one",
				j.Group, other.GroupSize, other.Name, j.GroupSize, j.Name)
		} else if !seen {
			first[j.Group] = j
		}
	}
}

// validateChains checks that chains lead to jobs of the list, and end.
func validateChains(list []jobs.Job, wrong func(format string, args ...any)) {
	keys := keysByName(list)
	chains := make(map[string][]string, len(list))
	for _, j := range list {
		chains[j.StoredAs()] = nil // also without a chain it is a job
	}
	for _, j := range list {
		for _, next := range slices.Concat(j.OnSuccess, j.OnFailure) {
			key := keyOf(next, keys)
			if _, ok := chains[key]; !ok {
				wrong("job %q triggers %q, which is not a job: write the name of a job", j.Name, next)
			}
			chains[j.StoredAs()] = append(chains[j.StoredAs()], key)
		}
	}
	if circle := jobs.ChainCircle(chains); circle != nil {
		wrong("jobs trigger each other without end: %s", strings.Join(circle, " → "))
	}
}

// keysByName has the keys of jobs whose names differ from them.
func keysByName(list []jobs.Job) map[string]string {
	keys := map[string]string{}
	for _, j := range list {
		if j.StoredAs() != j.Name {
			keys[j.Name] = j.Key
		}
	}
	return keys
}

// keyOf returns the key of the job with the name, or with the key.
func keyOf(job string, keys map[string]string) string { return cmp.Or(keys[job], job) }
