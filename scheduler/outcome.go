package scheduler

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// How reasons of runs begin that are told apart later (reason.go); of those that
// were replaced, what stands in them.
const (
	whyDrainedRun = "the replica drained"
	replacement   = ": replaced by tick "
	whyMaxHold    = "max_hold:"
	whyEvicted    = "released by an operator: "
)

// outcome says how a run ended whose function returned err, when its context
// had ended for cause (nil: it had not). A function that returns nil has done
// its work, also if it was asked to stop; but not if others may have worked
// meanwhile.
func outcome(err, cause error) (Outcome, string) {
	skip, skipped := errors.AsType[*jobs.SkipError](err)
	switch {
	case errors.Is(cause, locking.ErrLeaseLost):
		return LeaseLost, whyLost(cause)
	case err == nil:
		return Succeeded, ""
	case skipped:
		return Skipped, skip.Reason
	case cause == nil:
		return Failed, ""
	case errors.Is(cause, errTryTimeout):
		return TimedOut, "the last try took longer than retry.attempt_timeout"
	case errors.Is(cause, jobs.ErrTimeout):
		return TimedOut, "the run took longer than its timeout"
	case errors.Is(cause, jobs.ErrDraining):
		return Cancelled, whyDrainedRun
	default:
		return Cancelled, cause.Error()
	}
}

// whyLost says how the lease of a run was lost.
func whyLost(cause error) string {
	if errors.Is(cause, locking.ErrMaxHold) {
		return whyMaxHold + " the run took longer than lock.max_hold lets a lease be kept"
	}
	if evicted, ok := errors.AsType[*locking.EvictedError](cause); ok {
		return whyEvicted + evicted.Reason
	}
	return "the lease could not be kept"
}

// joinReasons says both, where there are two.
func joinReasons(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "; " + second
}

// maxErrorText bounds what the ledger keeps of an error.
const maxErrorText = 4 << 10

// errorText is what the ledger keeps of err: its text, and the stack of a panic.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	if _, skipped := errors.AsType[*jobs.SkipError](err); skipped {
		return ""
	}
	text := err.Error()
	if crash, ok := errors.AsType[*jobs.PanicError](err); ok {
		text = fmt.Sprintf("%s\n%s", text, crash.Stack)
	}
	if len(text) > maxErrorText {
		const cut = "\n… (cut)"
		text = strings.ToValidUTF8(text[:maxErrorText-len(cut)], "") + cut
	}
	return text
}
