package jobs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// A Job is a function, when it runs, and its policies. Programs pass jobs to package replica or
// scheduler, and a scheduler.Source yields them. Name, Handler, and Spec or Schedule are required.
// The zero value of every other field means the default; with package replica, the defaults section
// of the configuration file changes it.
type Job struct {
	// Name is unique among the jobs of a replica.
	Name string
	// Spec is the schedule as text: 5 to 7 cron fields, @daily and the like, @every 30s, or
	// @at 2027-01-01T00:00:00Z. With Schedule, listings show it.
	Spec string
	// Timezone is that of Spec. Default UTC; with package replica, scheduler.timezone.
	Timezone string
	// Schedule is a schedule that the program made, with its zone. It replaces Spec.
	Schedule schedule.Schedule `json:"-"`
	// Handler does the work. It is called on one replica for each tick.
	Handler Handler `json:"-"`

	// Func is the name of the function. With package replica, a job without a Handler calls the
	// function of that name in replica.Config.Registry, with Params as in a file. Params of a Source
	// hold no references: ${env:NAME} is plain text there.
	Func   string
	Params map[string]any
	// Description is for people.
	Description string
	// Key is the name under which the store keeps the job's claims, tokens and ledger: the
	// first name of a job that was renamed. Default: Name.
	Key string

	// Timeout ends the context of a run with ErrTimeout. Default DefaultTimeout.
	Timeout time.Duration
	// Jitter delays the start of each tick by less than this, equally on every replica. It
	// must be shorter than the time between two ticks. Default None.
	Jitter time.Duration
	// LateAfter is how long after its time a run may start without event.Late. Default None: it is
	// never late.
	LateAfter time.Duration
	// Overlap is the policy for a tick that comes during an earlier run. Default OverlapSkip.
	Overlap Overlap
	// OnCrash is the policy for a run whose replica died. Default CrashSkip: a tick runs at
	// most once.
	OnCrash OnCrash
	// CatchUp says which ticks that no replica could run are run later. Default: none.
	CatchUp CatchUp
	// Retry says when the function is called again after it failed. Default: never.
	Retry Retry
	// History bounds the stored ticks, runs and logs.
	History History
	// Paused jobs skip their ticks. Requests still run.
	Paused bool

	// Labels are those that a replica must have to run the job.
	Labels map[string]string
	// Tags are names for pausing and listing many jobs at once.
	Tags []string
	// Group is the limit that the job's runs share with those of other jobs in the whole
	// cluster; empty: none. GroupSize is how many of them may run at once, the same for each
	// job of the group.
	Group     string
	GroupSize int
	// Priority orders jobs that wait at a limit, also at that of a replica: the larger goes
	// first.
	Priority int
	// OnSuccess and OnFailure are the names or keys of jobs that are triggered when a run has
	// succeeded, or has failed or timed out. It takes scheduler.Stores.Commands.
	OnSuccess, OnFailure []string

	// Bind returns the function with other params; those of a request override the job's
	// own, key by key. Nil: requests cannot have params.
	Bind func(params map[string]any) (Handler, error) `json:"-"`
	// Shape describes the params of Bind. Nil: unknown.
	Shape *Shape `json:"-"`

	// Hash identifies a version of the job. Default: made of the fields that encoding/json
	// writes, but for Name and Key, and of Schedule, with its definition or some ticks. Set it if
	// that is not enough.
	Hash string
	// Code is the function in the program, if it is not a registered one. Replicas that
	// disagree about it are told apart.
	Code string `json:"-"`
	// Settings returns what people see when they compare versions of the job: an object
	// that encoding/json can write, without secrets, the same for jobs with the same Hash.
	// Default: some of the other fields.
	Settings func() any `json:"-"`
}

// None in a duration of a Job says that there is none, also where the defaults section of a
// configuration file has one, which holds for 0.
const None time.Duration = -1

// StoredAs is the name under which the store keeps the job's data.
func (j *Job) StoredAs() string { return cmp.Or(j.Key, j.Name) }

// DefaultTimeout is the default of Job.Timeout.
const DefaultTimeout = time.Hour

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
	// OverlapCancelPrevious ends the context of the run with ErrCancelled, and starts
	// when the run has ended; if it has not when the next tick comes, this one is skipped.
	OverlapCancelPrevious Overlap = "cancel_previous"
	// OverlapAllow lets the runs overlap. A guard refuses the older run once the newer has
	// written.
	OverlapAllow Overlap = "allow"
)

// Values returns the policies, the default first.
func (Overlap) Values() []string {
	return []string{string(OverlapSkip), string(OverlapQueue), string(OverlapCancelPrevious), string(OverlapAllow)}
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

// With returns an error if the two policies contradict each other. It says why, and what to
// write instead.
func (o Overlap) With(c OnCrash) error {
	if o == OverlapAllow && c == CrashRerun {
		return fmt.Errorf("%s does not go with on_crash: %s, since a tick cannot be run again once a later one was claimed; write queue, or on_crash: skip", o, c)
	}
	return nil
}

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

// WithDefaults returns a copy in which every zero value has its default.
func (c CatchUp) WithDefaults() CatchUp {
	c.Mode = cmp.Or(c.Mode, CatchUpNone)
	c.Window = cmp.Or(c.Window, DefaultCatchUpWindow)
	c.Max = cmp.Or(c.Max, DefaultCatchUpMax)
	return c
}

// A Retry says how often, and after which pauses, a failed function is called again under
// the same claim, with the same token. The lease is extended during the pauses. Retries end
// early after: an error marked by Permanent, Skip, a write that a guard refused
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
	// ErrTimeout. Job.Timeout limits all calls and pauses together. Default None.
	AttemptTimeout time.Duration `json:"attempt_timeout,omitempty" jsonschema:"Limit of one call; timeout limits all calls and pauses together. 0s: no limit of its own."`
}

// Defaults of a Retry.
const (
	DefaultBackoff    = time.Second
	DefaultMaxBackoff = time.Minute
)

// WithDefaults returns a copy in which every zero value has its default.
func (r Retry) WithDefaults() Retry {
	r.Attempts = cmp.Or(r.Attempts, 1)
	r.Backoff = cmp.Or(r.Backoff, DefaultBackoff)
	r.MaxBackoff = cmp.Or(r.MaxBackoff, max(DefaultMaxBackoff, r.Backoff))
	return r
}

// History bounds the stored past of a job. The Archive applies it at the end of each run
// and when a tick without one is recorded.
type History struct {
	// Keep bounds the runs, the ticks without a run, and the logs, each. Default, and at
	// most: MaxKeep.
	Keep int
	// MaxAge bounds the age of entries and logs. Default None: any age.
	MaxAge time.Duration
	// MaxBytes bounds all logs of the job together, on each node. Default
	// DefaultLogBytes; negative: no logs are kept.
	MaxBytes int
}

// MaxKeep bounds the runs of a job in the ledger, and the ticks without a run, whatever its
// History.
const MaxKeep = 1000

// Bounded reports whether h drops entries that the ledger would keep.
func (h History) Bounded() bool { return h.Keep > 0 && h.Keep < MaxKeep || h.MaxAge > 0 }

// DefaultLogBytes is the default of History.MaxBytes.
const DefaultLogBytes = 256 << 10

// WithDefaults returns a copy in which every zero value has its default.
func (h History) WithDefaults() History {
	h.Keep = min(cmp.Or(h.Keep, MaxKeep), MaxKeep)
	h.MaxBytes = cmp.Or(h.MaxBytes, DefaultLogBytes)
	return h
}

// ChainCircle returns jobs that trigger each other in a circle, the first one again at the
// end, or nil if all chains end. chains lists what each job triggers.
func ChainCircle(chains map[string][]string) []string {
	done := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		last := path[len(path)-1]
		if i := slices.Index(path, last); i < len(path)-1 {
			return path[i:]
		}
		if done[last] {
			return nil
		}
		for _, next := range chains[last] {
			if circle := walk(append(slices.Clip(path), next)); circle != nil {
				return circle
			}
		}
		done[last] = true
		return nil
	}
	for _, job := range slices.Sorted(maps.Keys(chains)) {
		if circle := walk([]string{job}); circle != nil {
			return circle
		}
	}
	return nil
}
