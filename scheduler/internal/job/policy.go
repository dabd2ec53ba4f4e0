package job

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
)

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
	return errors.Join(
		d.oneOf("overlap", string(d.Overlap), d.Overlap.Values()...),
		d.oneOf("on_crash", string(d.OnCrash), d.OnCrash.Values()...),
		d.validateConflicts(),
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

// validateConflicts refuses policies that contradict each other.
func (d *Definition) validateConflicts() error {
	if err := d.Overlap.With(d.OnCrash); err != nil {
		return fmt.Errorf("scheduler: job %q has an overlap policy that conflicts: %w", d.Name, err)
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
