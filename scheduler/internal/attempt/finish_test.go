package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	tests := []struct {
		name       string
		err, cause error
		want       ledger.Outcome
		reason     string
	}{
		{"nil", nil, nil, ledger.Succeeded, ""},
		{"error", boom, nil, ledger.Failed, ""},
		{"permanent error", jobs.Permanent(boom), nil, ledger.Failed, ""},
		{"skip", jobs.Skip("nothing to do"), nil, ledger.Skipped, "nothing to do"},
		{"wrapped skip", fmt.Errorf("x: %w", jobs.Skip("nothing to do")), nil, ledger.Skipped, "nothing to do"},
		{"timeout", context.DeadlineExceeded, jobs.ErrTimeout, ledger.TimedOut, "the run took longer than its timeout"},
		{"nil after the timeout", nil, jobs.ErrTimeout, ledger.TimedOut, "the run took longer than its timeout"},
		{"nil after the timeout of a try", nil, errCallTimeout, ledger.TimedOut, "the last try took longer than retry.attempt_timeout"},
		{"drained", context.Canceled, jobs.ErrDraining, ledger.Cancelled, "the replica drained"},
		{"nil after the drain", nil, jobs.ErrDraining, ledger.Cancelled, "the replica drained"},
		{"nil after it was cancelled", nil, jobs.ErrCancelled, ledger.Cancelled, jobs.ErrCancelled.Error()},
		{"nil after the end of another context", nil, context.Canceled, ledger.Cancelled, context.Canceled.Error()},
		{"cancelled", context.Canceled, jobs.ErrCancelled, ledger.Cancelled, jobs.ErrCancelled.Error()},
		{"lease lost", context.Canceled, locking.ErrLeaseLost, ledger.LeaseLost, "the lease could not be kept"},
		{"held too long", context.Canceled, locking.ErrMaxHold, ledger.LeaseLost, "max_hold: the run took longer than lock.max_hold lets a lease be kept"},
		{"taken away", context.Canceled, fmt.Errorf("extending: %w", &locking.EvictedError{Reason: "it hangs"}), ledger.LeaseLost, "released by an operator: it hangs"},
		{"nil without a lease", nil, locking.ErrLeaseLost, ledger.LeaseLost, "the lease could not be kept"},
	}
	for _, tt := range tests {
		got, reason := outcome(tt.err, tt.cause)
		if got != tt.want || reason.String() != tt.reason {
			t.Errorf("%s: %s %q, want %s %q", tt.name, got, reason, tt.want, tt.reason)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	if got := errorText(nil); got != "" {
		t.Errorf("no error: %q", got)
	}
	if got := errorText(jobs.Skip("x")); got != "" {
		t.Errorf("a skip is no error: %q", got)
	}
	crash := &jobs.PanicError{Value: "boom", Stack: []byte("goroutine 1: main.go:7")}
	if got := errorText(fmt.Errorf("run: %w", crash)); !strings.Contains(got, "boom") || !strings.Contains(got, "main.go:7") {
		t.Errorf("a panic needs its value and stack: %q", got)
	}
	long := errorText(errors.New(strings.Repeat("é", maxErrorText)))
	if len(long) > maxErrorText || !utf8.ValidString(long) || !strings.HasSuffix(long, "(cut)") {
		t.Errorf("long error: %d bytes, valid %t, ends %q", len(long), utf8.ValidString(long), long[len(long)-10:])
	}
}

func TestTryTimeoutIsATimeout(t *testing.T) {
	t.Parallel()
	if !errors.Is(errCallTimeout, jobs.ErrTimeout) {
		t.Error("functions know the timeout of the run only")
	}
}
