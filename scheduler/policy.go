package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// An Overlap says what becomes of a tick while an earlier run of its job goes
// on, anywhere in the cluster.
type Overlap string

// The policies for overlap. The empty one is OverlapSkip.
const (
	// OverlapSkip waits within the tick's window, then skips the tick.
	OverlapSkip Overlap = "skip"
	// OverlapQueue waits until the run has ended, however long that takes. One
	// tick waits; when another comes, the one that waited is skipped.
	OverlapQueue Overlap = "queue"
	// OverlapCancelPrevious ends the context of the run with jobs.ErrCancelled,
	// and starts when it is gone; if it is not when the next tick comes, this one
	// is skipped.
	OverlapCancelPrevious Overlap = "cancel_previous"
	// OverlapAllow runs beside it. A guard on what they share refuses the older
	// run once the newer has written.
	OverlapAllow Overlap = "allow"
)

// overlaps are the policies in the order of the documentation, and what each means.
// All else that the engine does follows from these traits.
var overlaps = []struct {
	name Overlap
	traits
}{
	{OverlapSkip, traits{}},
	{OverlapQueue, traits{patient: true, queues: true}},
	{OverlapCancelPrevious, traits{patient: true, replaces: true}},
	{OverlapAllow, traits{beside: true}},
}

// traits are what an overlap policy means for a tick that comes during a run.
type traits struct {
	patient  bool // it waits until the next tick comes, not only within its window
	queues   bool // it is skipped because that tick comes to wait, not because of the run
	replaces bool // it asks the run to stop
	beside   bool // it does not wait: the runs overlap
}

// traits are those of the policy; of an unknown one, which Validate refuses, none.
func (o Overlap) traits() traits {
	for _, known := range overlaps {
		if known.name == o {
			return known.traits
		}
	}
	return traits{}
}

// OnCrash says what becomes of a run whose replica died.
type OnCrash string

// The policies for crashes. The empty one is CrashSkip.
const (
	// CrashSkip leaves it interrupted: a tick runs at most once.
	CrashSkip OnCrash = "skip"
	// CrashRerun runs the tick again elsewhere, with a larger token and attempt:
	// at least once.
	CrashRerun OnCrash = "rerun"
)

// A CatchUpMode says which of the ticks that nobody could run are run later.
type CatchUpMode string

// The modes of catching up. The empty one is CatchUpNone.
const (
	CatchUpNone CatchUpMode = "none" // none: they are missed
	CatchUpLast CatchUpMode = "last" // the last of them
	CatchUpAll  CatchUpMode = "all"  // all of them, oldest first
)

// CatchUp says what becomes of ticks that came while no replica or no quorum of
// nodes was there.
type CatchUp struct {
	Mode CatchUpMode
	// Window is how long after its nominal time a tick may still be caught up.
	// Default DefaultCatchUpWindow.
	Window time.Duration
	// Max bounds how many ticks are caught up after one outage: the newest.
	// Default DefaultCatchUpMax.
	Max int
}

// What a CatchUp means that says nothing.
const (
	DefaultCatchUpWindow = time.Hour
	DefaultCatchUpMax    = 100
)

// validatePolicies says which of the job's policies are not known, or are
// impossible.
func (j *Job) validatePolicies() error {
	var known []string
	for _, o := range overlaps {
		known = append(known, string(o.name))
	}
	return errors.Join(
		j.oneOf("overlap", string(j.Overlap), known...),
		j.oneOf("on_crash", string(j.OnCrash), string(CrashSkip), string(CrashRerun)),
		j.validateConflicts(),
		j.oneOf("catch-up mode", string(j.CatchUp.Mode), string(CatchUpNone), string(CatchUpLast), string(CatchUpAll)),
		j.bounded("window", j.CatchUp.Window >= 0, j.CatchUp.Window),
		j.bounded("max", j.CatchUp.Max >= 0, j.CatchUp.Max),
	)
}

// conflicts are the combinations of policies that make no sense.
var conflicts = []struct {
	overlap      Overlap
	onCrash      OnCrash
	why, instead string
}{
	{OverlapAllow, CrashRerun, "a tick cannot be run again once a later one was claimed", "queue, or on_crash: skip"},
}

// With returns an error if the two policies make no sense together. It says why, and what
// to write instead.
func (o Overlap) With(c OnCrash) error {
	for _, no := range conflicts {
		if no.overlap == o && no.onCrash == c {
			return fmt.Errorf("%s does not go with on_crash: %s, since %s; write %s", o, c, no.why, no.instead)
		}
	}
	return nil
}

// validateConflicts refuses policies that make no sense together.
func (j *Job) validateConflicts() error {
	if err := j.Overlap.With(j.OnCrash); err != nil {
		return fmt.Errorf("scheduler: job %q has an overlap policy that conflicts: %w", j.Name, err)
	}
	return nil
}

// bounded refuses a bound of catching up that is not ok.
func (j *Job) bounded(bound string, ok bool, value any) error {
	if ok {
		return nil
	}
	return fmt.Errorf("scheduler: job %q has catch-up %s %v: it must be positive", j.Name, bound, value)
}

// oneOf refuses a value that is neither empty nor among those that are known.
func (j *Job) oneOf(policy, value string, known ...string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("scheduler: job %q has %s %q: write one of %q", j.Name, policy, value, known)
}
