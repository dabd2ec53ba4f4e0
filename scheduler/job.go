package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Job is a function, when it runs, and what becomes of its ticks when
// something stands in their way.
type Job struct {
	Name     string            // required, unique
	Schedule schedule.Schedule `json:"-"` // required
	Handler  jobs.Handler      `json:"-"` // required

	// Key is the name under which the nodes keep the job's lock, claims and
	// ledger: that of the job before it was renamed. Default: Name.
	Key string

	// Bind returns the function with other params: those of a request go before
	// the job's own, key by key. Nil: requests cannot bring params.
	Bind func(params map[string]any) (jobs.Handler, error) `json:"-"`
	// Params says what Bind takes, for programs that ask for runs. Nil: it is not known.
	Params *jobs.Shape `json:"-"`

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
	// whole cluster; empty: none. GroupSize is how many runs of its jobs may go on
	// at once, the same for each of them.
	Group     string
	GroupSize int

	// Priority says who goes first where a limit makes jobs wait: the larger.
	Priority int

	// Tags are names by which many jobs are paused and listed at once.
	Tags []string

	// Paused jobs skip their ticks. What people ask for is run all the same.
	Paused bool

	// OnSuccess and OnFailure are the keys of jobs that are triggered, through
	// Config.Acts, when a run has succeeded, or has failed or timed out.
	OnSuccess []string
	OnFailure []string

	// LateAfter is how long after its time a run may start before EventLate
	// is told. 0: never.
	LateAfter time.Duration

	History ledger.History

	// Hash tells versions of the job apart. Default: made of the other fields;
	// of Handler and Schedule, which have no written form, of Spec and some
	// ticks. Set it where that is not enough to tell them apart.
	Hash string

	// Settings returns what people are shown of the job where they compare versions
	// of it: an object that encoding/json can write, without secrets, the same for
	// jobs with the same Hash. Default: some of the other fields.
	Settings func() any `json:"-"`

	// Func, Spec, Timezone and Description are what listings show of the job.
	Func        string
	Spec        string
	Timezone    string
	Description string
}

// key is the name under which the nodes keep what belongs to the job.
func (j *Job) key() string { return cmp.Or(j.Key, j.Name) }

// renamedFrom is the key where it is not the name.
func (j *Job) renamedFrom() string {
	if j.key() == j.Name {
		return ""
	}
	return j.Key
}

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
	return errors.Join(append(errs, validateKeys(list), validateChains(list))...)
}

// validateKeys makes sure that no two jobs are one to the nodes.
func validateKeys(list []Job) error {
	var errs []error
	names, keys := make(map[string]bool, len(list)), make(map[string]string, len(list))
	for _, j := range list {
		if other, ok := keys[j.key()]; ok && other != j.Name {
			errs = append(errs, fmt.Errorf("scheduler: jobs %q and %q have the same key, %q: one of them is another job", other, j.Name, j.key()))
		}
		names[j.Name], keys[j.key()] = true, j.Name
	}
	for _, j := range list {
		if j.renamedFrom() != "" && names[j.Key] {
			errs = append(errs, fmt.Errorf("scheduler: job %q has key %q, which is the name of another job: give that one another name", j.Name, j.Key))
		}
	}
	errs = append(errs, validateGroups(list))
	return errors.Join(errs...)
}
