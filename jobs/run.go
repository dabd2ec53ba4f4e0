package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Run describes a call to its function.
type Run struct {
	// ID identifies the run of this tick: the same for every call and attempt.
	ID string
	// Job is the name of the job in the configuration.
	Job string
	// Key is what the job was called before it was renamed; empty if it never
	// was. Its tokens grow on from those of that name.
	Key string
	// Tick is the scheduled instant, whenever the run really began.
	Tick time.Time
	// Token is the fencing token of the claim. Send it along with every side
	// effect, so that a sink can refuse a run that was paused too long.
	Token locking.Token
	// Attempt distinguishes the runs of one tick: each has another, larger than those
	// before it, from 1. Numbers may be missing, of claims that were given back before the
	// function was called.
	Attempt int
	// Call counts the calls of the function within the claim, from 1.
	Call int
	// Trigger says why the run was asked for: "schedule" for a tick that came due.
	Trigger string
	// Parent is the ID of the run that asked for this one, for trigger "chain".
	Parent string
	// Replica is the id of the replica that runs it.
	Replica string
	// Spec is the schedule of the job as text; empty if it has none.
	Spec string
	// Traceparent and Tracestate are the trace context of the call, as the headers of these names
	// carry it (www.w3.org/TR/trace-context). Empty without package scheduler/traces.
	Traceparent, Tracestate string
	// Logger carries the fields above. A bound Handler never sees nil.
	Logger *slog.Logger

	withheld *Withheld
}

// Fence names the resource that the run writes to, by default its job as it was
// first called, and the token to write with: a Run is a fence.Bearer, which
// guards take.
func (r Run) Fence() (resource string, token locking.Token) {
	return cmp.Or(r.Key, r.Job), r.Token
}

// FormatTick formats t for other processes: RFC 3339 in UTC, with milliseconds only if
// there are any.
func FormatTick(t time.Time) string {
	if t.Nanosecond()/int(time.Millisecond) == 0 {
		return t.UTC().Format("2006-01-02T15:04:05Z")
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Previous is how a job's earlier runs ended: see Run.Previous.
type Previous struct {
	// Success is the tick of the last run that succeeded, and Ended when that was over.
	// Zero: there was none, or the ledger no longer has it.
	Success, Ended time.Time
	// Outcome is that of the last run that has ended: succeeded, failed, timed_out,
	// cancelled, lease_lost, interrupted or skipped. Empty: there was none.
	Outcome string
}

// ErrNoLedger is returned by Run.Previous for a context that is not that of a run.
var ErrNoLedger = errors.New("jobs: the context is not that of a run: there is no ledger to read")

// Previous reads from the ledger how earlier ticks of the job ended, on any replica; other
// attempts of this tick do not count. ctx is the context of the run, or derived from it.
// Each call asks the nodes. The error matches locking.ErrNoQuorum if too few of them
// answer, the context's own if that has ended, and ErrNoLedger in a test that calls the
// function without WithPrevious.
func (r Run) Previous(ctx context.Context) (Previous, error) {
	read, ok := ctx.Value(previousKey{}).(func(context.Context) (Previous, error))
	if !ok {
		return Previous{}, ErrNoLedger
	}
	return read(ctx)
}

type previousKey struct{}

// WithPrevious returns a context in which Run.Previous returns what read does: for the
// scheduler, and for tests of functions.
func WithPrevious(ctx context.Context, read func(context.Context) (Previous, error)) context.Context {
	return context.WithValue(ctx, previousKey{}, read)
}

// Call calls h and returns its error; a panic as a *PanicError, and a runtime.Goexit (for
// example t.FailNow) as an error, too. It returns when h has ended, even if ctx ended
// before.
func Call(ctx context.Context, h Handler, run Run) error {
	done := make(chan error, 1)
	// A goroutine of its own: Goexit cannot be stopped, only outlived.
	go func() {
		var err error
		defer func() { done <- err }()
		Do(ctx, h, run, &err)
	}()
	return <-done
}

// Do calls h in the goroutine of the caller, and sets what Call would return.
// When h ends the goroutine (runtime.Goexit), Do does not return, and what the
// caller has deferred finds err set.
func Do(ctx context.Context, h Handler, run Run, err *error) {
	*err = errGoexit
	*err = recovered(func() error { return h(ctx, run) })
}

var errGoexit = errors.New("function ended its goroutine (runtime.Goexit) instead of returning")

// A PanicError is a panic of a job's function.
type PanicError struct {
	Value any
	// Stack is that of the goroutine when it panicked.
	Stack []byte
	where string
}

// Error has the value and the place of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v%s", e.Value, e.where) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func recovered(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack(), where: panicPlace()}
		}
	}()
	return f()
}

// panicPlace names the function and line that panicked: the first caller below
// the frames of the runtime. It must be called by the deferred function.
func panicPlace() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !strings.HasPrefix(frame.Function, "runtime.") {
			name := frame.Function[strings.LastIndex(frame.Function, "/")+1:]
			return fmt.Sprintf(" at %s (%s:%d)", name, filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}
