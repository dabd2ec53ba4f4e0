package job

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/commands"
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

	// LateAfter is how long after its time a run may start without event.Late. 0: never.
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

// A Chain has the keys of jobs that are triggered through Config.Commands when a run has
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

// An Overlap is the policy for a tick that comes during an earlier run of its job, anywhere
// in the cluster.
type Overlap string

// The overlap policies. The empty one is OverlapSkip.
const (
	// OverlapSkip waits within the tick's window, then skips the tick.
	OverlapSkip Overlap = "skip"
	// OverlapQueue waits until the run has ended, however long that takes. One tick waits;
	// it is skipped when the next one comes.
	OverlapQueue Overlap = "queue"
	// OverlapCancelPrevious ends the context of the run with jobs.ErrCancelled, and starts
	// when the run has ended; if it has not when the next tick comes, this one is skipped.
	OverlapCancelPrevious Overlap = "cancel_previous"
	// OverlapAllow lets the runs overlap. A guard refuses the older run once the newer has
	// written.
	OverlapAllow Overlap = "allow"
)

// overlaps has the policies in the order of the documentation, with their traits. The
// engine uses only the traits.
var overlaps = []struct {
	name Overlap
	Traits
}{
	{OverlapSkip, Traits{}},
	{OverlapQueue, Traits{Patient: true, Queues: true}},
	{OverlapCancelPrevious, Traits{Patient: true, Replaces: true}},
	{OverlapAllow, Traits{Beside: true}},
}

// Traits are the effects of an overlap policy on a tick that comes during a run.
type Traits struct {
	Patient  bool // it waits until the next tick comes, not only within its window
	Queues   bool // it is skipped because that tick comes, not because of the run
	Replaces bool // it cancels the run
	Beside   bool // it does not wait: the runs overlap
}

// Values returns the policies, the default first.
func (Overlap) Values() []string {
	var names []string
	for _, known := range overlaps {
		names = append(names, string(known.name))
	}
	return names
}

// Traits returns those of the overlap policy; none if it is unknown, which Validate refuses.
func (j *Job) Traits() Traits {
	for _, known := range overlaps {
		if known.name == j.Overlap {
			return known.Traits
		}
	}
	return Traits{}
}

// OnCrash is the policy for a run whose replica has died.
type OnCrash string

// The crash policies. The empty one is CrashSkip.
const (
	// CrashSkip leaves it interrupted: a tick runs at most once.
	CrashSkip OnCrash = "skip"
	// CrashRerun runs the tick again elsewhere, with a larger token and attempt:
	// at least once.
	CrashRerun OnCrash = "rerun"
)

// Values returns the policies, the default first.
func (OnCrash) Values() []string { return []string{string(CrashSkip), string(CrashRerun)} }

// A CatchUpMode says which ticks that no replica could run are run later.
type CatchUpMode string

// The catch-up modes. The empty one is CatchUpNone.
const (
	CatchUpNone CatchUpMode = "none" // none: they are missed
	CatchUpLast CatchUpMode = "last" // the last of them
	CatchUpAll  CatchUpMode = "all"  // all of them, oldest first
)

// Values returns the modes, the default first.
func (CatchUpMode) Values() []string {
	return []string{string(CatchUpNone), string(CatchUpLast), string(CatchUpAll)}
}

// CatchUp is the policy for ticks that came without a live replica or without a quorum. It is the
// section catch_up of a configuration file, too.
type CatchUp struct {
	Mode CatchUpMode `json:"mode,omitempty" jsonschema:"last: only the last of these ticks. all: all of them, oldest first."`
	// Window is how long after its nominal time a tick may still be caught up.
	// Default DefaultCatchUpWindow.
	Window time.Duration `json:"window,omitempty" jsonschema:"How long after its time a tick may still be caught up."`
	// Max bounds how many ticks are caught up after one outage: the newest. Default
	// DefaultCatchUpMax.
	Max int `json:"max,omitempty" jsonschema:"How many ticks are caught up after one outage: the newest."`
}

// Defaults of a CatchUp.
const (
	DefaultCatchUpWindow = time.Hour
	DefaultCatchUpMax    = 100
)

// validatePolicies returns which of the job's policies are unknown or impossible.
func (d *Definition) validatePolicies() error {
	conflict := d.Overlap.With(d.OnCrash)
	if conflict != nil {
		conflict = fmt.Errorf("scheduler: job %q has an overlap policy that conflicts: %w", d.Name, conflict)
	}
	return errors.Join(
		d.oneOf("overlap", string(d.Overlap), d.Overlap.Values()...),
		d.oneOf("on_crash", string(d.OnCrash), d.OnCrash.Values()...),
		conflict,
		d.oneOf("catch-up mode", string(d.CatchUp.Mode), d.CatchUp.Mode.Values()...),
		d.bounded("window", d.CatchUp.Window >= 0, d.CatchUp.Window),
		d.bounded("max", d.CatchUp.Max >= 0, d.CatchUp.Max),
	)
}

// conflicts are combinations of policies that contradict each other.
var conflicts = []struct {
	overlap      Overlap
	onCrash      OnCrash
	why, instead string
}{
	{OverlapAllow, CrashRerun, "a tick cannot be run again once a later one was claimed", "queue, or on_crash: skip"},
}

// With returns an error if the two policies contradict each other. It says why, and what to
// write instead.
func (o Overlap) With(c OnCrash) error {
	for _, no := range conflicts {
		if no.overlap == o && no.onCrash == c {
			return fmt.Errorf("%s does not go with on_crash: %s, since %s; write %s", o, c, no.why, no.instead)
		}
	}
	return nil
}

// bounded refuses a bad limit of catching up.
func (d *Definition) bounded(bound string, ok bool, value any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("scheduler: job %q has catch-up %s %v: it must be positive", d.Name, bound, value)
}

// oneOf refuses a value that is neither empty nor known.
func (d *Definition) oneOf(policy, value string, known ...string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("scheduler: job %q has %s %q: write one of %q", d.Name, policy, value, known)
}

// Mode is how often the job's ticks may be claimed.
func (j *Job) Mode() locking.Mode {
	if j.OnCrash == CrashRerun {
		return locking.AtLeastOnce
	}
	return locking.AtMostOnce
}

// A Retry says how often, and after which pauses, a failed function is called again under
// the same claim, with the same token. The lease is extended during the pauses. Retries end
// early after: an error marked by jobs.Permanent, jobs.Skip, a write that a guard refused
// as stale, the end of the run's context, and a drain, which lets the current call finish. It is
// the section retry of a configuration file, too.
type Retry struct {
	// Attempts counts the calls of the function, the first included. Default 1.
	Attempts int `json:"attempts,omitempty" jsonschema:"Calls of the function, the first included. 1: no retry."`
	// Backoff is the pause after the first call. It doubles after each call up to
	// MaxBackoff. Up to half of it is subtracted at random, so retries spread. Default 1 s.
	Backoff time.Duration `json:"backoff,omitempty" jsonschema:"Pause after the first call. It doubles after each further call; up to half of it is taken off at random."`
	// MaxBackoff bounds the pause. Default 1 min, or Backoff if that is longer.
	MaxBackoff time.Duration `json:"max_backoff,omitempty" jsonschema:"Longest pause."`
	// AttemptTimeout ends the context of one call with a cause that matches
	// jobs.ErrTimeout. Job.Timeout limits all calls and pauses together. 0: none.
	AttemptTimeout time.Duration `json:"attempt_timeout,omitempty" jsonschema:"Limit of one call; timeout limits all calls and pauses together. 0s: no limit of its own."`
}

// Defaults of a Retry.
const (
	DefaultBackoff    = time.Second
	DefaultMaxBackoff = time.Minute
)

// withDefaults returns a copy in which every zero value has its default.
func (r Retry) withDefaults() Retry {
	r.Attempts = cmp.Or(r.Attempts, 1)
	r.Backoff = cmp.Or(r.Backoff, DefaultBackoff)
	r.MaxBackoff = cmp.Or(r.MaxBackoff, max(DefaultMaxBackoff, r.Backoff))
	return r
}

// validate returns what is wrong with the policy of the job.
func (r Retry) validate(job string) error {
	switch r = r.withDefaults(); {
	case r.Attempts < 0:
		return fmt.Errorf("scheduler: job %q has %d attempts: it needs at least one", job, r.Attempts)
	case r.Backoff < 0 || r.MaxBackoff < r.Backoff:
		return fmt.Errorf("scheduler: job %q has a backoff from %v to %v: use positive durations, the smaller one first", job, r.Backoff, r.MaxBackoff)
	case r.AttemptTimeout < 0:
		return fmt.Errorf("scheduler: job %q has attempt timeout %v: it must not be negative", job, r.AttemptTimeout)
	}
	return nil
}

// RetryPause is the time between the given call and the next, with "equal jitter": half of it is
// fixed.
func (j *Job) RetryPause(try int, random func(time.Duration) time.Duration) time.Duration {
	limit, most := j.Retry.Backoff, j.Retry.MaxBackoff
	for i := 1; i < try && limit < most; i++ {
		limit = min(2*limit, most)
	}
	half := limit / 2
	return limit - half + random(half+1)
}

// Retries reports whether a call that ended with err is followed by another.
func (j *Job) Retries(try int, err error) bool {
	_, skipped := errors.AsType[*jobs.SkipError](err)
	switch {
	case err == nil, skipped, jobs.IsPermanent(err):
		return false
	case errors.Is(err, fence.ErrStale):
		return false // the next call would write with the same token
	}
	return try < j.Retry.Attempts
}

// Requests says which params a request for a run may have.
type Requests struct {
	// Bind returns the function with other params; those of a request override the job's
	// own, key by key. Nil: requests cannot have params.
	Bind func(params map[string]any) (jobs.Handler, error) `json:"-"`
	// Params describes the params of Bind. Nil: unknown.
	Params *jobs.Shape `json:"-"`
}

// CheckParams returns an *commands.Error if the job refuses the params of a request.
func (r Requests) CheckParams(params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	if _, err := BindParams(r, params); err != nil {
		return &commands.Error{Kind: commands.Trigger, Msg: fmt.Sprintf("params: %v", err)}
	}
	return nil
}

var errNoParams = errors.New("the job takes none with a request")

// BindParams returns the function with the params of a request.
func BindParams(r Requests, text json.RawMessage) (jobs.Handler, error) {
	if r.Bind == nil {
		return nil, errNoParams
	}
	params, err := commands.DecodeParams(text)
	if err != nil {
		return nil, err
	}
	return r.Bind(params)
}

// PublishedParams describes the params that a request may have, for publication.
func (j *Job) PublishedParams() *jobs.Shape {
	if j.Bind == nil {
		return jobs.NoShape()
	}
	return j.Params
}

// ErrHalfWritten is for new jobs that lack most of the old ones, or come from a file that seems to
// be cut off.
var ErrHalfWritten = errors.New("may be half written")

// CheckLoss returns an error that matches ErrHalfWritten if after has fewer jobs than before and
// lacks more than half of those.
func CheckLoss(before, after []Definition) error {
	left := make(map[string]bool, len(after))
	for _, d := range after {
		left[d.storedAs()] = true
	}
	var gone []string
	for _, d := range before {
		if !left[d.storedAs()] {
			gone = append(gone, d.Name)
		}
	}
	if len(after) >= len(before) || 2*len(gone) <= len(before) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d jobs are gone, such as %s", ErrHalfWritten, len(gone), len(before), gone[0])
}
