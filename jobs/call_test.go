package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/jobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func explode(v any) { panic(v) }

func TestCallRecoversPanics(t *testing.T) {
	t.Parallel()
	var nilMap map[string]int
	tests := map[string]struct {
		f    func()
		want string
	}{
		"value":   {func() { explode("boom") }, `^panic: boom at jobs_test\.explode \(call_test\.go:\d+\)$`},
		"runtime": {func() { nilMap["a"] = 1 }, `^panic: assignment to entry in nil map at jobs_test\.TestCallRecoversPanics\S* \(call_test\.go:\d+\)$`},
		"nil":     {func() { explode(nil) }, `^panic: panic called with nil argument`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := jobs.Call(t.Context(), func(context.Context, jobs.Run) error {
				tt.f()
				return nil
			}, jobs.Run{})
			p, ok := errors.AsType[*jobs.PanicError](err)
			if !ok || !regexp.MustCompile(tt.want).MatchString(err.Error()) {
				t.Fatalf("got %v, want %s", err, tt.want)
			}
			if !strings.Contains(string(p.Stack), "call_test.go") {
				t.Errorf("stack does not lead here:\n%s", p.Stack)
			}
		})
	}
}

func TestCallOutlivesGoexit(t *testing.T) {
	t.Parallel()
	err := jobs.Call(t.Context(), func(context.Context, jobs.Run) error {
		runtime.Goexit()
		return nil
	}, jobs.Run{})
	if err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("got %v", err)
	}
}

func TestCallPassesThrough(t *testing.T) {
	t.Parallel()
	var got jobs.Run
	err := jobs.Call(t.Context(), func(_ context.Context, run jobs.Run) error {
		got = run
		return io.EOF
	}, jobs.Run{ID: "a"})
	if !errors.Is(err, io.EOF) || got.ID != "a" {
		t.Errorf("got %v, %+v", err, got)
	}
}

func TestPanicWithAnError(t *testing.T) {
	t.Parallel()
	err := jobs.Call(t.Context(), func(context.Context, jobs.Run) error { panic(io.EOF) }, jobs.Run{})
	if !errors.Is(err, io.EOF) {
		t.Errorf("%v hides the error it is about", err)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("sending: %w", jobs.Permanent(io.EOF))
	if !jobs.IsPermanent(wrapped) || !errors.Is(wrapped, io.EOF) || jobs.IsPermanent(io.EOF) {
		t.Error("permanent errors are not told from others")
	}
	if jobs.Permanent(nil) != nil {
		t.Error("no error became one")
	}
	skip, ok := errors.AsType[*jobs.SkipError](fmt.Errorf("x: %w", jobs.Skip("nothing new")))
	if !ok || skip.Reason != "nothing new" {
		t.Errorf("got %+v", skip)
	}
}
