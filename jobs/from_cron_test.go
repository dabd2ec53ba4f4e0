package jobs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/jobs"
)

// callFromCron registers job and calls it.
func callFromCron(ctx context.Context, t *testing.T, job cron.Job) error {
	t.Helper()
	r := jobs.NewRegistry()
	jobs.Register(r, "f", jobs.FromCron(job))
	h, err := r.Bind("f", nil, jobs.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return jobs.Call(ctx, h, jobs.Run{})
}

func TestFromCronRunsTheJob(t *testing.T) {
	t.Parallel()
	calls := 0
	if err := callFromCron(t.Context(), t, cron.FuncJob(func() { calls++ })); err != nil || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

func TestFromCronReportsAPanic(t *testing.T) {
	t.Parallel()
	err := callFromCron(t.Context(), t, cron.FuncJob(func() { panic("boom") }))
	if _, ok := errors.AsType[*jobs.PanicError](err); !ok {
		t.Errorf("error %v, want the panic", err)
	}
}

// Run cannot see the context: it is not called after its end, and not left behind when
// that comes during the call.
func TestFromCronAndTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	returned := false
	if err := callFromCron(ctx, t, cron.FuncJob(func() { cancel(jobs.ErrTimeout); returned = true })); err != nil || !returned {
		t.Errorf("the run of a context that ends meanwhile: returned %v, error %v", returned, err)
	}
	err := callFromCron(ctx, t, cron.FuncJob(func() { t.Error("called after the end of its context") }))
	if !errors.Is(err, jobs.ErrTimeout) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestFromCronRefusesNil(t *testing.T) {
	t.Parallel()
	r := jobs.NewRegistry()
	jobs.Register(r, "f", jobs.FromCron(nil))
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "the function is nil") {
		t.Errorf("Err = %v, want the missing function", err)
	}
}
