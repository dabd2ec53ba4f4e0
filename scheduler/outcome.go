package scheduler

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
)

// outcome says how a run ended whose function returned err, when its context
// had ended for cause (nil: it had not). A function that returns nil has done
// its work, also if it was asked to stop; but not if others may have worked
// meanwhile.
func outcome(err, cause error) (Outcome, Reason) {
	skip, skipped := errors.AsType[*jobs.SkipError](err)
	stopped, said := errors.AsType[*stopError](cause)
	switch {
	case errors.Is(cause, locking.ErrLeaseLost):
		return LeaseLost, whyLost(cause)
	case err == nil:
		return Succeeded, Reason{}
	case skipped:
		return Skipped, Reason{Code: CodeFunction, Details: &Details{Text: skip.Reason}}
	case cause == nil:
		return Failed, Reason{}
	case errors.Is(cause, errTryTimeout):
		return TimedOut, Reason{Code: CodeTimeout, Variant: VariantTry}
	case errors.Is(cause, jobs.ErrTimeout):
		return TimedOut, Reason{Code: CodeTimeout}
	case errors.Is(cause, jobs.ErrDraining):
		return Cancelled, Reason{Code: CodeDrained, Variant: VariantRun}
	case said:
		return Cancelled, stopped.reason
	case errors.Is(cause, jobs.ErrCancelled):
		return Cancelled, Reason{Code: CodeCancelled}
	default:
		return Cancelled, Said(cause.Error())
	}
}

// A stopError ends the context of a run that is asked to stop.
type stopError struct{ reason Reason }

// Error is the reason in words.
func (e *stopError) Error() string { return e.reason.String() }

// Unwrap makes it a jobs.ErrCancelled.
func (e *stopError) Unwrap() error { return jobs.ErrCancelled }

// whyLost says how the lease of a run was lost.
func whyLost(cause error) Reason {
	if errors.Is(cause, locking.ErrMaxHold) {
		return Reason{Code: CodeMaxHold}
	}
	if evicted, ok := errors.AsType[*locking.EvictedError](cause); ok {
		return Reason{Code: CodeEvicted, Details: &Details{Text: evicted.Reason}}
	}
	return Reason{Code: CodeLost}
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
