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
	return errors.Join(
		j.oneOf("overlap", string(j.Overlap), string(OverlapSkip), string(OverlapQueue), string(OverlapCancelPrevious), string(OverlapAllow)),
		j.oneOf("on_crash", string(j.OnCrash), string(CrashSkip), string(CrashRerun)),
		j.validateAllow(),
		j.oneOf("catch-up mode", string(j.CatchUp.Mode), string(CatchUpNone), string(CatchUpLast), string(CatchUpAll)),
		j.bounded("window", j.CatchUp.Window >= 0, j.CatchUp.Window),
		j.bounded("max", j.CatchUp.Max >= 0, j.CatchUp.Max),
	)
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
