package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

func untilEnd(ctx context.Context, _ jobs.Run) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// untilEndSilently is what people write for "stop".
func untilEndSilently(ctx context.Context, _ jobs.Run) error {
	<-ctx.Done()
	return nil
}

func TestHowRunsEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		do     jobs.Handler
		ledger string
		error  string // the entry's error must contain it
	}{
		{"succeeds", nil, "10s succeeded", ""},
		{"fails", func(context.Context, jobs.Run) error { return errors.New("boom") }, "10s failed", "boom"},
		{"panics", func(context.Context, jobs.Run) error { panic("ouch") }, "10s failed", "run_test.go"},
		{"ends its goroutine", func(context.Context, jobs.Run) error { runtime.Goexit(); return nil }, "10s failed", "runtime.Goexit"},
		{"skips", func(context.Context, jobs.Run) error { return jobs.Skip("no orders") }, "10s skipped: no orders", ""},
		{"takes too long", untilEnd, "10s timed_out: the run took longer than its timeout", jobs.ErrTimeout.Error()},
		{"returns nil too late", untilEndSilently, "10s timed_out: the run took longer than its timeout", "returned nil"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				job := every(t, "10s", "j", c.handler(tt.do))
				job.Timeout = 4 * time.Second
				stop := c.start(c.replica("r1", nil, job))
				time.Sleep(19 * time.Second)
				c.stop(stop)
				c.wantTicks("j", tt.ledger)
				e := c.ticks("j")[0]
				if !strings.Contains(e.Error, tt.error) || (tt.error == "") != (e.Error == "") {
					t.Errorf("error %q, want %q in it", e.Error, tt.error)
				}
				if e.Replica != "r1" || e.Calls != 1 || e.Token == 0 || e.Attempt != 1 || e.Votes.For != c.votes ||
					e.Trigger != ledger.BySchedule || e.Started.IsZero() || e.Finished.Before(e.Started) {
					t.Errorf("incomplete entry: %+v", e)
				}
			})
		})
	}
}

func TestWhatARunLearns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var out bytes.Buffer
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
		}, every(t, "10s", "j", c.handler(func(_ context.Context, run jobs.Run) error {
			run.Logger.Info("working")
			return nil
		}))))
		time.Sleep(11 * time.Second)
		c.stop(stop)
		run := c.runs[0]
		run.Logger = nil
		want := jobs.Run{
			ID: "j@20000101T000010.000Z", Job: "j", Tick: c.begun.Add(10 * time.Second).UTC(),
			Token: c.ticks("j")[0].Token, Attempt: 1, Call: 1, Trigger: "schedule", Replica: "r1", Spec: "@every 10s",
		}
		if run != want {
			t.Errorf("got %+v\nwant %+v", run, want)
		}
		for _, attr := range []string{"run=j@20000101T000010.000Z", "job=j", "tick=2000-01-01T00:00:10Z", "token=", "attempt=1", "try=1", "trigger=schedule", "replica=r1"} {
			if !strings.Contains(out.String(), attr) {
				t.Errorf("log line %q lacks %s", out.String(), attr)
			}
		}
	})
}

func TestLongRunKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		long := c.handler(func(ctx context.Context, _ jobs.Run) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(9 * time.Second): // 3 x TTL
				return nil
			}
		})
		stop := c.start(c.replica("r1", nil, every(t, "10s", "j", long)))
		other := c.start(c.replica("r2", nil, every(t, "10s", "j", long)))
		time.Sleep(39500 * time.Millisecond)
		c.stop(stop)
		c.stop(other)
		c.wantTicks("j", "10s succeeded", "20s succeeded", "30s succeeded")
	})
}

// fixedLeases is a Locker whose leases cannot be extended.
type fixedLeases struct{ locking.Locker }

type fixedTermLease struct{ locking.Lease }

func (f fixedLeases) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := f.Locker.TryAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	return fixedTermLease{lease}, nil
}

func (fixedTermLease) Extend(context.Context) error { return locking.ErrNoQuorum }

func TestLeaseLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = fixedLeases{c.locks}
		var ended time.Duration
		stop := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
			err := untilEnd(ctx, run)
			ended = c.at(time.Now())
			return err
		}))))
		time.Sleep(19 * time.Second)
		c.stop(stop)
		if ended <= 12*time.Second || ended >= 13*time.Second {
			t.Errorf("the context ended at %v; the lease of 3s ended at 13s", ended)
		}
		c.wantTicks("j", "10s lease_lost: the lease could not be kept")
	})
}

// A run that exceeds MaxHold is cancelled before its lease ends, and another replica runs
// the next tick even if the function ignores it.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var cause error
		var ended time.Duration
		deaf := every(t, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
			if c.at(run.Tick) > 10*time.Second {
				return nil
			}
			<-ctx.Done()
			cause, ended = context.Cause(ctx), c.at(time.Now())
			time.Sleep(12 * time.Second)
			return nil
		}))
		capped := func(cfg *scheduler.Config) { cfg.MaxHold = 6 * time.Second }
		stop := c.start(c.replica("r1", capped, deaf))
		time.Sleep(15 * time.Second)
		other := c.start(c.replica("r2", capped, deaf))
		time.Sleep(14 * time.Second)
		c.stop(other)
		c.stop(stop)
		time.Sleep(time.Minute) // in case the run was kept
		if !errors.Is(cause, locking.ErrMaxHold) || ended <= 15*time.Second || ended >= 16*time.Second {
			t.Errorf("the context ended at %v with %v, want %v shortly before 16s", ended, cause, locking.ErrMaxHold)
		}
		c.wantTicks("j", "10s lease_lost: max_hold: the run took longer than lock.max_hold lets a lease be kept", "20s succeeded")
		c.saw(1, "r2: finished j 20s succeeded <nil>")
	})
}

// A function that does not return is reported once, keeps its lease and blocks its job
// everywhere; other jobs continue.
func TestOverdue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		deaf := every(t, "5s", "deaf", c.handler(func(context.Context, jobs.Run) error {
			time.Sleep(12 * time.Second)
			return errors.New("at last")
		}))
		deaf.Timeout = time.Second
		fine := every(t, "5s", "fine", c.handler(nil))
		r1 := c.replica("r1", nil, deaf, fine)
		stop := c.start(r1)
		time.Sleep(8 * time.Second)
		r2 := c.start(c.replica("r2", nil, deaf))
		time.Sleep(time.Second)
		running := r1.Snapshot().Running
		if len(running) != 1 || running[0].Job != "deaf" || c.at(running[0].Overdue) != 6*time.Second {
			t.Errorf("snapshot shows %+v", running)
		}
		time.Sleep(7 * time.Second) // 16 s; the function returns at 17 s
		c.stop(r2)
		c.stop(stop)
		c.saw(1, "overdue deaf since 6s")
		var outcomes []ledger.Outcome
		for _, e := range c.ticks("deaf") {
			outcomes = append(outcomes, e.Outcome)
		}
		if want := []ledger.Outcome{ledger.TimedOut, ledger.Skipped, ledger.Missed}; !slices.Equal(outcomes, want) {
			t.Errorf("outcomes %v, want %v", outcomes, want)
		}
		c.wantTicks("fine", "5s succeeded", "10s succeeded", "15s succeeded")
	})
}

// A function that ignores the loss of its lease blocks its job on this replica, though the
// lock is free.
func TestDeafWithoutLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = fixedLeases{c.locks}
		stop := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(lasting(27*time.Second)))))
		time.Sleep(39 * time.Second)
		c.stop(stop)
		const skipped = "skipped: overlap: r1 still runs tick 2000-01-01T00:00:10Z, beyond the end of its lease"
		c.saw(1, "finished j 10s lease_lost <nil>") // it had expired, and the ledger has it
		c.wantTicks("j", "10s lease_lost: the lease could not be kept", "20s "+skipped, "30s "+skipped)
		c.saw(1, "overdue j")
	})
}

// untilEndOr works for d, or until its context ends.
func untilEndOr(d time.Duration) jobs.Handler {
	return func(ctx context.Context, _ jobs.Run) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(d):
			return nil
		}
	}
}

// Reports of an attempt are visible to later queries: every run finds itself among the
// current ones.
func TestRunsKnowOfThemselves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var r *scheduler.Scheduler
		var unknown atomic.Int64
		var list []jobs.Job
		for i := range 50 {
			list = append(list, every(t, "1s", fmt.Sprintf("j%d", i), func(_ context.Context, run jobs.Run) error {
				if !slices.ContainsFunc(r.Snapshot().Running, func(i scheduler.RunInfo) bool { return i.Job == run.Job }) {
					unknown.Add(1)
				}
				return nil
			}))
		}
		r = c.replica("r1", nil, list...)
		stop := c.start(r)
		time.Sleep(3500 * time.Millisecond)
		c.stop(stop)
		if n := unknown.Load(); n > 0 {
			t.Errorf("%d of 150 runs were unknown to the loop", n)
		}
	})
}
