// Package job has what the engine knows of a job before it runs anything: its definition
// and policies, its ticks, and the verdicts on ticks that do not run. Package scheduler
// exports what programs need of it under its own name.
package job

import "cmp"

// A Job is a checked definition, with its key, its hash and the defaults of its policies. It
// never changes, so all goroutines may share it.
type Job struct{ Definition }

// New returns the job of a definition that Validate accepts.
func New(d Definition) *Job {
	d.Hash = d.hash()
	d.Key = d.storedAs()
	d.Timeout = cmp.Or(d.Timeout, DefaultTimeout)
	d.CatchUp, d.Retry = d.CatchUp.withDefaults(), d.Retry.withDefaults()
	return &Job{d}
}

// List returns the jobs of definitions that Validate accepts.
func List(all []Definition) []*Job {
	list := make([]*Job, len(all))
	for i, d := range all {
		list[i] = New(d)
	}
	return list
}

// StoredAs is the name under which the nodes store the job's data.
func (j *Job) StoredAs() string { return j.storedAs() }

// RenamedFrom is the key if it differs from the name.
func (j *Job) RenamedFrom() string {
	if j.StoredAs() == j.Name {
		return ""
	}
	return j.Key
}

// ShownSettings is the result of Settings or, without it, what listings show of a job.
func (j *Job) ShownSettings() any {
	if j.Settings != nil {
		return j.Settings()
	}
	return map[string]any{
		"func": j.Func, "schedule": j.Spec, "timezone": j.Timezone, "description": j.Description, "tags": j.Tags,
		"paused": j.Paused, "timeout": j.Timeout.String(), "overlap": j.Overlap, "jitter": j.Jitter.String(),
	}
}
