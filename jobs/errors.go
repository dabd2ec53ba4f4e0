package jobs

import (
	"errors"
	"fmt"
	"strings"
)

// Causes with which the context of a run ends, besides locking.ErrLeaseLost.
// Read them with context.Cause.
var (
	// ErrTimeout: the run took longer than the job's timeout.
	ErrTimeout = errors.New("timeout of the job reached")
	// ErrCancelled: somebody asked for the run to stop.
	ErrCancelled = errors.New("run was cancelled")
	// ErrDraining: the replica is shutting down and its drain timeout is over.
	ErrDraining = errors.New("replica is draining")
)

// ErrUnknownFunc is returned by Bind, as an *UnknownFuncError, for an unregistered name.
var ErrUnknownFunc = errors.New("unknown function")

// An UnknownFuncError names the function that is missing and those there are.
type UnknownFuncError struct {
	Name  string
	Known []string // sorted
}

// Error lists the known names, the most similar one first if there is one.
func (e *UnknownFuncError) Error() string {
	return fmt.Sprintf("%v %q: %s", ErrUnknownFunc, e.Name, suggest(e.Name, e.Known))
}

// Unwrap returns ErrUnknownFunc.
func (e *UnknownFuncError) Unwrap() error { return ErrUnknownFunc }

// A ParamError is an invalid value in the params.
type ParamError struct {
	// Path leads from the params to the value: keys, and indices of lists as
	// decimal numbers. Empty: the params as a whole.
	Path []string
	// Msg says what is wrong and what to write instead.
	Msg string
}

// Error is the message after the dotted path.
func (e *ParamError) Error() string {
	if len(e.Path) == 0 {
		return e.Msg
	}
	return strings.Join(e.Path, ".") + ": " + e.Msg
}

// A PermanentError is a failure that another try cannot fix.
type PermanentError struct{ Err error }

// Permanent marks err so that the run is not tried again. It returns nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Err: err}
}

// IsPermanent reports whether err, or an error it wraps, was marked by Permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*PermanentError](err)
	return ok
}

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the error that was marked.
func (e *PermanentError) Unwrap() error { return e.Err }

// A SkipError is how a function says that there was nothing to do.
type SkipError struct{ Reason string }

// Skip returns the error with which a function ends a run that turned out to
// be needless: neither a success nor a failure, and not tried again.
func Skip(reason string) error { return &SkipError{Reason: reason} }

func (e *SkipError) Error() string { return "skipped: " + e.Reason }
