package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// failing fails with the listed errors, and then succeeds.
func failing(errs ...error) jobs.Handler {
	return func(_ context.Context, run jobs.Run) error {
		if run.Call > len(errs) {
			return nil
		}
		return errs[run.Call-1]
	}
}

// slowTry exceeds all timeouts.
func slowTry(ctx context.Context, run jobs.Run) error {
	err := untilEnd(ctx, run)
	return fmt.Errorf("try %d: %w", run.Call, err)
}

// noJitter subtracts nothing from the pauses between tries.
func noJitter(cfg *scheduler.Config) {
	cfg.Random = func(_ string, _ time.Time, limit time.Duration) time.Duration { return limit - 1 }
}

func TestRetry(t *testing.T) {
	t.Parallel()
	one, two := errors.New("first"), errors.New("second")
	deaf := func(context.Context, jobs.Run) error { time.Sleep(2 * time.Second); return two }
	tests := []struct {
		name    string
		retry   jobs.Retry
		timeout time.Duration
		do      jobs.Handler
		ledger  string
		error   string
		calls   string // when each began
	}{
		{
			"a single call is the default",
			jobs.Retry{},
			0, failing(one),
			"10s failed", "first", "10s",
		},
		{
			"succeeds at last",
			jobs.Retry{Attempts: 5},
			0, failing(one, two),
			"10s succeeded", "", "10s 11s 13s",
		},
		{
			"the last error is kept",
			jobs.Retry{Attempts: 2},
			0, failing(one, two, one),
			"10s failed", "second", "10s 11s",
		},
		{
			"pauses double up to their bound",
			jobs.Retry{Attempts: 5, Backoff: 500 * time.Millisecond, MaxBackoff: time.Second},
			0,
			failing(one, one, one, one, one), "10s failed", "first", "10s 10.5s 11.5s 12.5s 13.5s",
		},
		{
			"panics are tried again",
			jobs.Retry{Attempts: 2},
			0,
			func(_ context.Context, run jobs.Run) error {
				if run.Call == 1 {
					panic("ouch")
				}
				return nil
			}, "10s succeeded", "", "10s 11s",
		},
		{
			"permanent failures are not",
			jobs.Retry{Attempts: 5},
			0, failing(one, jobs.Permanent(two)),
			"10s failed", "second", "10s 11s",
		},
		{
			"skips are not",
			jobs.Retry{Attempts: 5},
			0, failing(one, jobs.Skip("no orders")),
			"10s skipped: no orders", "", "10s 11s",
		},
		{
			"a call has a timeout of its own",
			jobs.Retry{Attempts: 2, AttemptTimeout: time.Second},
			0, slowTry,
			"10s timed_out: the last try took longer than retry.attempt_timeout", "try 2: timeout of one call", "10s 12s",
		},
		{
			"a call may recover from the timeout of the one before",
			jobs.Retry{Attempts: 2, AttemptTimeout: time.Second},
			0,
			func(ctx context.Context, run jobs.Run) error {
				if run.Call == 1 {
					return slowTry(ctx, run)
				}
				return nil
			}, "10s succeeded", "", "10s 12s",
		},
		{
			"a call that returns nil after its timeout is tried again",
			jobs.Retry{Attempts: 2, AttemptTimeout: time.Second},
			0, untilEndSilently,
			"10s timed_out: the last try took longer than retry.attempt_timeout", "returned nil", "10s 12s",
		},
		{
			"the run has one over all calls",
			jobs.Retry{Attempts: 5, AttemptTimeout: 2 * time.Second},
			4 * time.Second, slowTry,
			"10s timed_out: the run took longer than its timeout", "try 2: timeout of the job", "10s 13s",
		},
		{
			"nobody waits for a call that has no time",
			jobs.Retry{Attempts: 5},
			2500 * time.Millisecond, failing(one, two),
			"10s failed: no further try: the pause before it would have outlasted the timeout", "second", "10s 11s",
		},
		{
			"an ended run has no further call",
			jobs.Retry{Attempts: 5},
			time.Second, deaf,
			"10s timed_out: the run took longer than its timeout", "second", "10s",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				var calls []string
				job := every(t, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
					calls = append(calls, c.at(time.Now()).String())
					return tt.do(ctx, run)
				}))
				job.Retry, job.Timeout = tt.retry, tt.timeout
				stop := c.start(c.replica("r1", noJitter, job))
				time.Sleep(19 * time.Second)
				c.stop(stop)
				c.wantTicks("j", tt.ledger)
				if got := strings.Join(calls, " "); got != tt.calls {
					t.Errorf("called at %s, want %s", got, tt.calls)
				}
				e := c.ticks("j")[0]
				if !strings.Contains(e.Error, tt.error) || (tt.error == "") != (e.Error == "") || e.Calls != len(calls) {
					t.Errorf("%d tries, error %q, want %d and %q in it", e.Calls, e.Error, len(calls), tt.error)
				}
			})
		})
	}
}

// What differs between calls, what does not, and the events.
func TestWhatTriesLearn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var log bytes.Buffer
		var retried []string
		job := every(t, "10s", "j", c.handler(failing(errors.New("boom"))))
		job.Retry.Attempts = 3
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			noJitter(cfg)
			cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			on(cfg, event.Retried, func(e event.Event) {
				retried = append(retried, fmt.Sprint(e.Entry.Job, c.at(e.Entry.Tick), e.Call, e.Err, e.In))
			})
		}, job))
		time.Sleep(19 * time.Second)
		c.stop(stop)
		if want := []string{"j10s 1 boom 1s"}; !slices.Equal(retried, want) {
			t.Errorf("the observer heard %q, want %q", retried, want)
		}
		if !strings.Contains(log.String(), `msg="call failed, calling again"`) || !strings.Contains(log.String(), "try=1") || !strings.Contains(log.String(), "error=boom") {
			t.Errorf("the run's log has %q", log.String())
		}
		first, second := c.runs[0], c.runs[1]
		if first.Call != 1 || second.Call != 2 || first.ID != second.ID || first.Token != second.Token || first.Attempt != second.Attempt {
			t.Errorf("told %+v, then %+v", first, second)
		}
	})
}

// The lease is kept during pauses.
func TestPausesKeepTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "10s", "j", c.handler(failing(errors.New("boom"))))
		job.Retry = jobs.Retry{Attempts: 2, Backoff: 9 * time.Second} // 3 x TTL
		stop := c.start(c.replica("r1", noJitter, job))
		other := c.start(c.replica("r2", noJitter, job))
		time.Sleep(29500 * time.Millisecond)
		c.stop(stop)
		c.stop(other)
		c.wantTicks("j", "10s succeeded", "20s succeeded")
	})
}

// A drain lets the current call end, and begins no other.
func TestDrainEndsTries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		at      time.Duration
		retried int
	}{{"in a call", 10500 * time.Millisecond, 0}, {"in a pause", 11500 * time.Millisecond, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				job := every(t, "10s", "j", c.handler(func(context.Context, jobs.Run) error {
					time.Sleep(time.Second)
					return errors.New("boom")
				}))
				job.Retry = jobs.Retry{Attempts: 9, Backoff: 2 * time.Second}
				retried := 0
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
					noJitter(cfg)
					on(cfg, event.Retried, func(event.Event) { retried++ })
				}, job))
				time.Sleep(tt.at)
				c.stop(stop)
				if retried != tt.retried {
					t.Errorf("announced %d further calls, want %d", retried, tt.retried)
				}
				if took := c.at(time.Now()); took > 12*time.Second {
					t.Errorf("drained at %v", took)
				}
				c.wantTicks("j", "10s failed: no further try: the replica drains")
				if e := c.ticks("j")[0]; e.Calls != 1 || e.Error != "boom" {
					t.Errorf("the ledger has %+v", e)
				}
			})
		})
	}
}

// A run that lost its lease is not tried again, although it failed.
func TestNoTryAfterTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = fixedLeases{c.locks}
		job := every(t, "10s", "j", c.handler(failing(errors.New("boom"))))
		job.Retry = jobs.Retry{Attempts: 2, Backoff: 5 * time.Second}
		stop := c.start(c.replica("r1", noJitter, job))
		time.Sleep(19 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s lease_lost: the lease could not be kept")
		if e := c.ticks("j")[0]; e.Calls != 1 {
			t.Errorf("%d tries", e.Calls)
		}
	})
}

// A call that ignores its context is overdue until it returns, not longer.
func TestOverdueTryIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "20s", "j", c.handler(func(context.Context, jobs.Run) error {
			time.Sleep(5 * time.Second)
			return errors.New("boom")
		}))
		job.Retry = jobs.Retry{Attempts: 2, AttemptTimeout: time.Second}
		r := c.replica("r1", noJitter, job)
		stop := c.start(r)
		overdue := func() time.Duration { synctest.Wait(); return c.at(r.Snapshot().Running[0].Overdue) }
		time.Sleep(24 * time.Second) // the first call ends at 25 s
		if got := overdue(); got != 21*time.Second {
			t.Errorf("overdue since %v, want 21s", got)
		}
		time.Sleep(1500 * time.Millisecond)
		if got := r.Snapshot().Running[0].Overdue; !got.IsZero() {
			t.Errorf("overdue since %v in the pause", c.at(got))
		}
		time.Sleep(4 * time.Second)
		if got := overdue(); got != 27*time.Second {
			t.Errorf("overdue since %v in the second call, want 27s", got)
		}
		c.stop(stop)
	})
}
