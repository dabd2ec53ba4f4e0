package attempt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// errNil is the error of a function that returned nil after its context had ended: it was
// told to stop, and does not say whether it had done its work.
var errNil = errors.New("the function returned nil after its context had ended")

// outcome returns how a run ended. Its function returned err; its context had ended for
// cause (nil: it had not). A function whose context has ended has not succeeded.
func outcome(err, cause error) (ledger.Outcome, ledger.Reason) {
	skip, skipped := errors.AsType[*jobs.SkipError](err)
	stopped, isStop := errors.AsType[*StopError](cause)
	switch {
	case errors.Is(cause, locking.ErrLeaseLost):
		return ledger.LeaseLost, whyLost(cause)
	case err == nil && cause == nil:
		return ledger.Succeeded, ledger.Reason{}
	case skipped:
		return ledger.Skipped, ledger.Reason{Code: ledger.CodeFunction, Details: &ledger.Details{Text: skip.Reason}}
	case cause == nil:
		return ledger.Failed, ledger.Reason{}
	case errors.Is(cause, errTryTimeout):
		return ledger.TimedOut, ledger.Reason{Code: ledger.CodeTimeout, Variant: ledger.VariantTry}
	case errors.Is(cause, jobs.ErrTimeout):
		return ledger.TimedOut, ledger.Reason{Code: ledger.CodeTimeout}
	case errors.Is(cause, jobs.ErrDraining):
		return ledger.Cancelled, ledger.Reason{Code: ledger.CodeDrained, Variant: ledger.VariantRun}
	case isStop:
		return ledger.Cancelled, stopped.Reason
	case errors.Is(cause, jobs.ErrCancelled):
		return ledger.Cancelled, ledger.Reason{Code: ledger.CodeCancelled}
	default:
		return ledger.Cancelled, ledger.TextReason(cause.Error())
	}
}

// A StopError ends the context of a run that must stop.
type StopError struct{ Reason ledger.Reason }

func (e *StopError) Error() string { return e.Reason.String() }

// Unwrap makes it a jobs.ErrCancelled.
func (e *StopError) Unwrap() error { return jobs.ErrCancelled }

// whyLost returns how the lease of a run was lost.
func whyLost(cause error) ledger.Reason {
	if errors.Is(cause, locking.ErrMaxHold) {
		return ledger.Reason{Code: ledger.CodeMaxHold}
	}
	if evicted, ok := errors.AsType[*locking.EvictedError](cause); ok {
		return ledger.Reason{Code: ledger.CodeEvicted, Details: &ledger.Details{Text: evicted.Reason}}
	}
	return ledger.Reason{Code: ledger.CodeLost}
}

// maxErrorText bounds the text of an error in the ledger.
const maxErrorText = 4 << 10

// errorText is the ledger's text of err, with the stack of a panic.
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

// errTryTimeout is the cause when the context of one call times out.
var errTryTimeout error = tryTimeout{}

type tryTimeout struct{}

func (tryTimeout) Error() string { return "timeout of one try of the job reached" }

// Is makes it match the timeout of the whole run, which functions know.
func (tryTimeout) Is(target error) bool { return target == jobs.ErrTimeout }
