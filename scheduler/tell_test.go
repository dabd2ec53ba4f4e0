package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// Events for metrics and traces come in order, with their durations.
func TestARunIsToldStepByStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = slow{c.locks}
		var told []string
		say := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
		job := every(t, "10s", "j", c.handler(func(context.Context, jobs.Run) error {
			time.Sleep(1500 * time.Millisecond)
			return nil
		}))
		job.Jitter = time.Second
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Observer = func(ev event.Event) {
				e := ev.Entry
				switch ev.Kind {
				case event.Tried:
					say("tried %s %v in %v: %v", e.Job, c.at(e.Tick), ev.Took, ev.Err)
				case event.Claimed:
					say("claimed %s", ev.Run)
				case event.Started:
					say("started %s %v %s %s token %t attempt %d votes %d behind %v", e.Job, c.at(e.Tick), e.Trigger, e.Outcome, e.Token != 0, e.Attempt, e.Votes.For, ev.By)
				case event.Extended:
					say("extended with %v left in %v: %v", ev.Left, ev.Took, ev.Err)
				case event.Released:
					say("released with %v left in %v: %v", ev.Left, ev.Took, ev.Err)
				case event.Finished:
					say("finished %s %s", ev.Run, e.Outcome)
				}
			}
		}, job))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		want := []string{
			"tried j 10s in 100ms: <nil>", "claimed j@20000101T000010.000Z",
			fmt.Sprintf("started j 10s schedule running token true attempt 1 votes %d behind 100ms", c.votes),
			fmt.Sprintf("extended with %v left in 200ms: <nil>", 2018*time.Millisecond-c.early),
			fmt.Sprintf("released with %v left in 300ms: <nil>", 2682*time.Millisecond-c.early), "finished j@20000101T000010.000Z succeeded",
		}
		if last := told[max(0, len(told)-len(want)):]; !slices.Equal(last, want) {
			t.Errorf("told last\n%q, want\n%q", last, want)
		}
	})
}

// slow is a slow Locker.
type slow struct{ locking.Watcher }

func (s slow) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	time.Sleep(100 * time.Millisecond)
	lease, err := s.Watcher.TryAcquire(ctx, req)
	return slowLease{lease}, err
}

type slowLease struct{ locking.Lease }

func (l slowLease) Extend(ctx context.Context) error {
	time.Sleep(200 * time.Millisecond)
	return l.Lease.Extend(ctx)
}

func (l slowLease) Release(ctx context.Context, note []byte) error {
	time.Sleep(300 * time.Millisecond)
	return l.Lease.Release(ctx, note)
}

// A claim that comes too late to begin ends as unused, since no start or end follows.
func TestUnusedClaimsAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var told []string
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Observer = func(e event.Event) {
				switch e.Kind {
				case event.Claimed:
					told = append(told, "claimed")
					time.Sleep(3 * time.Second) // like a stopped process
				case event.Started, event.Late, event.Finished:
					told = append(told, string(e.Kind))
				case event.Unused:
					told = append(told, fmt.Sprint("unused ", e.Entry.Job, " ", c.at(e.Entry.Tick)))
				case event.Decided:
					told = append(told, string(e.Entry.Outcome)+" "+e.Entry.Reason.String())
				}
			}
		}, every(t, "10s", "j", c.handler(nil))))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		want := []string{"claimed", "unused j 10s", "missed the claim was won too late to begin the work, and given back"}
		if !slices.Equal(told, want) {
			t.Errorf("told\n%q, want\n%q", told, want)
		}
	})
}

// Middleware wraps each call, the first one outermost.
func TestMiddlewareOfTheScheduler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var told []string
		around := func(name string) jobs.Middleware {
			return func(next jobs.Handler) jobs.Handler {
				return func(ctx context.Context, run jobs.Run) error {
					told = append(told, fmt.Sprint(name, " ", run.Job, " try ", run.Call))
					return next(ctx, run)
				}
			}
		}
		job := every(t, "10s", "j", c.handler(func(context.Context, jobs.Run) error { return errors.New("boom") }))
		job.Retry = jobs.Retry{Attempts: 2}
		stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Middleware = []jobs.Middleware{around("outer"), around("inner")}
		}, job))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		if want := []string{"outer j try 1", "inner j try 1", "outer j try 2", "inner j try 2"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		c.wantTicks("j", "10s failed")
	})
}
