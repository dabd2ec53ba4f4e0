package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

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
