package job

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// DefaultTimeout is the default of Definition.Timeout.
const DefaultTimeout = time.Hour

// A Definition is a job as a program writes it: a function, its schedule, and its policies.
// The zero value of each field is its default, but of the first three.
type Definition struct {
	Name     string            // required, unique
	Schedule schedule.Schedule `json:"-"` // required
	Handler  jobs.Handler      `json:"-"` // required

	// Key is the name under which the nodes store the job's lock, claims and ledger: its
	// name before it was renamed. Default: Name.
	Key string

	Requests

	// Timeout ends the context of a run with jobs.ErrTimeout. Default DefaultTimeout.
	Timeout time.Duration

	// Jitter delays the start of each tick by less than this, equally on every replica. It
	// must be shorter than the time between two ticks.
	Jitter time.Duration

	Overlap Overlap // default OverlapSkip

	CatchUp CatchUp

	OnCrash OnCrash // default CrashSkip

	Retry Retry

	// Labels are those that a replica must have to run the job.
	Labels map[string]string

	Limits

	// Tags are names for pausing and listing many jobs at once.
	Tags []string

	// Paused jobs skip their ticks. Requests still run.
	Paused bool

	Chain

	// LateAfter is how long after its time a run may start without EventLate. 0: never.
	LateAfter time.Duration

	History ledger.History

	// Hash identifies a version of the job. Default: made of the other fields; Schedule
	// counts with its definition or some ticks, Handler not at all. Set it if that is not
	// enough.
	Hash string

	About
}

// Limits bound the runs of jobs in the whole cluster.
type Limits struct {
	// Group is the limit that the job's runs share with others; empty: none. GroupSize is
	// how many of them may run at once, the same for each job of the group.
	Group     string
	GroupSize int
	// Priority orders jobs that wait at a limit, also at that of a replica: the larger goes
	// first.
	Priority int
}

// A Chain has the keys of jobs that are triggered through Config.Acts when a run has
// succeeded, or has failed or timed out.
type Chain struct {
	OnSuccess []string
	OnFailure []string
}

// About is what listings show of a job.
type About struct {
	Func        string
	Code        string `json:"-"` // the function in the program, if it is not a registered one
	Spec        string // of the schedule
	Timezone    string
	Description string
	// Settings returns what people see when they compare versions of the job: an object
	// that encoding/json can write, without secrets, the same for jobs with the same Hash.
	// Default: some of the other fields.
	Settings func() any `json:"-"`
}

// storedAs is the name under which the nodes store the job's data.
func (d *Definition) storedAs() string { return cmp.Or(d.Key, d.Name) }

// Validate returns everything that is wrong with the list.
func Validate(list []Definition) error {
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

// validateKeys checks that keys are unique.
func validateKeys(list []Definition) error {
	var errs []error
	names, keys := make(map[string]bool, len(list)), make(map[string]string, len(list))
	for _, j := range list {
		if other, ok := keys[j.storedAs()]; ok && other != j.Name {
			errs = append(errs, fmt.Errorf("scheduler: jobs %q and %q have the same key, %q: one of them is another job", other, j.Name, j.storedAs()))
		}
		names[j.Name], keys[j.storedAs()] = true, j.Name
	}
	for _, j := range list {
		if j.storedAs() != j.Name && names[j.Key] {
			errs = append(errs, fmt.Errorf("scheduler: job %q has key %q, which is the name of another job: give that one another name", j.Name, j.Key))
		}
	}
	errs = append(errs, validateGroups(list))
	return errors.Join(errs...)
}
