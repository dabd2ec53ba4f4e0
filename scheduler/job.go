package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/jobs"
)

// A Job is a function, when it runs, and what becomes of its ticks when
// something stands in their way.
type Job struct {
	Name     string       // required, unique
	Schedule Schedule     // required
	Handler  jobs.Handler // required

	// Key is the name under which the nodes keep the job's lock, claims and
	// ledger: that of the job before it was renamed. Default: Name.
	Key string

	// Timeout ends the context of a run with jobs.ErrTimeout. 0: none.
	Timeout time.Duration

	// Jitter delays the start of each tick by less than this, by as much on
	// every replica. It must be shorter than the time between two ticks.
	Jitter time.Duration

	Overlap Overlap // default OverlapSkip

	CatchUp CatchUp

	OnCrash OnCrash // default CrashSkip

	Retry Retry

	// Labels are those that a replica must have to run the job.
	Labels map[string]string

	// Group is the name of the limit that the job's runs count against in the
	// whole cluster; empty: none.
	Group string

	// Priority says who goes first where a limit makes jobs wait: the larger.
	Priority int

	// Tags are names by which many jobs are paused and listed at once.
	Tags []string

	// Paused jobs skip their ticks.
	Paused bool

	// OnSuccess and OnFailure name jobs that are triggered when a run has ended
	// so.
	OnSuccess []string
	OnFailure []string

	History History

	// Hash tells definitions of the job apart.
	Hash string

	// Func, Spec, Timezone and Description are what listings show of the job.
	Func        string
	Spec        string
	Timezone    string
	Description string
}

// key is the name under which the nodes keep what belongs to the job.
func (j Job) key() string { return cmp.Or(j.Key, j.Name) }

// validateJobs says everything that is wrong with the list.
func validateJobs(list []Job) error {
	var errs []error
	seen := make(map[string]bool, len(list))
	for i, j := range list {
		switch {
		case j.Name == "":
			errs = append(errs, fmt.Errorf("scheduler: job %d has no name", i+1))
		case seen[j.Name]:
			errs = append(errs, fmt.Errorf("scheduler: job %q is listed twice", j.Name))
		case j.Schedule == nil:
			errs = append(errs, fmt.Errorf("scheduler: job %q has no schedule", j.Name))
		case j.Handler == nil:
			errs = append(errs, fmt.Errorf("scheduler: job %q has no handler", j.Name))
		case j.Timeout < 0:
			errs = append(errs, fmt.Errorf("scheduler: job %q has timeout %v: it must not be negative", j.Name, j.Timeout))
		}
		errs = append(errs, j.validatePolicies())
		seen[j.Name] = true
		errs = append(errs, j.Retry.validate(j.Name))
	}
	return errors.Join(errs...)
}
