package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// archived uses the cluster's ledger as archive.
func archived(c *cluster) func(*scheduler.Config) {
	return func(cfg *scheduler.Config) { cfg.Archive = c.ledger }
}

// The log of a run is found by tick and token, however the run ended.
func TestLogsAreArchived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		stop := c.start(c.replica("a", archived(c), every(t, "10s", "j", func(_ context.Context, run jobs.Run) error {
			run.Logger.Info("working", "tick", c.at(run.Tick))
			return errors.New("broken")
		})))
		time.Sleep(25 * time.Second)
		c.stop(stop)
		for _, e := range c.ticks("j") {
			log, err := c.ledger.Log(t.Context(), "j", e.Tick, e.Token)
			if want := fmt.Sprintf("msg=working tick=%v\n", c.at(e.Tick)); err != nil || !strings.HasSuffix(log.Text, want) {
				t.Errorf("log of %v = %q, %v; want %q", c.at(e.Tick), log.Text, err, want)
			}
		}
	})
}

// A job's history is bounded when it runs, and when it does not.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handler jobs.Handler
		ticks   int
	}{
		"runs": {func(context.Context, jobs.Run) error { return nil }, 3},
		"does not": {func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			return ctx.Err()
		}, 1 + 3}, // the current run, and ticks that did not run
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			job := every(t, "10s", "j", tt.handler)
			job.History = jobs.History{Keep: 3}
			stop := c.start(c.replica("a", archived(c), job))
			time.Sleep(95 * time.Second)
			// The current run is older than the bound; its end is recorded after the others
			// were checked.
			if got := len(c.ticks("j")); got != tt.ticks {
				t.Errorf("a job that %s has %d ticks in the ledger, want %d", name, got, tt.ticks)
			}
			c.stop(stop)
		})
	}
}

func TestLateRunsAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		slow := every(t, "10s", "j", c.handler(nil))
		slow.LateAfter = 2 * time.Second
		var late []string
		c.locker = lateLocker{c.locker, 3 * time.Second}
		stop := c.start(c.replica("a", func(cfg *scheduler.Config) {
			cfg.TTL = 10 * time.Second
			on(cfg, event.Late, func(ev event.Event) {
				e := ev.Entry
				late = append(late, fmt.Sprint(e.Job, " ", c.at(e.Tick), " by ", ev.By, " ", e.Trigger, " ", c.at(e.Started)))
			})
		}, slow, every(t, "10s", "patient", c.handler(nil))))
		time.Sleep(15 * time.Second)
		c.stop(stop)
		if got := fmt.Sprint(late); got != "[j 10s by 3s schedule 13s]" {
			t.Errorf("told late: %s, want [j 10s by 3s schedule 13s]", got)
		}
	})
}

// A lateLocker grants late.
type lateLocker struct {
	locking.Locker
	after time.Duration
}

func (l lateLocker) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	time.Sleep(l.after)
	return l.Locker.TryAcquire(ctx, req)
}

// A lost lease is reported once, before the end of the run.
func TestLostLeasesAreTold(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]jobs.Handler{
		"obeys": func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"returns nil": func(ctx context.Context, _ jobs.Run) error {
			<-ctx.Done()
			return nil
		},
		"is stubborn": func(context.Context, jobs.Run) error {
			time.Sleep(8 * time.Second)
			return nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			var told []string
			stop := c.start(c.replica("a", func(cfg *scheduler.Config) {
				cfg.MaxHold = 3 * time.Second
				on(cfg, event.LeaseLost, func(e event.Event) {
					told = append(told, fmt.Sprint(e.Entry.Job, " ", c.at(e.Entry.Tick), " ", errors.Is(e.Err, locking.ErrLeaseLost)))
				})
				on(cfg, event.Finished, func(e event.Event) { told = append(told, string(e.Entry.Outcome)) })
			}, every(t, "30s", "j", handler)))
			time.Sleep(45 * time.Second)
			c.stop(stop)
			if got := fmt.Sprint(told); got != "[j 30s true lease_lost]" {
				t.Errorf("a function that %s: %s, want [j 30s true lease_lost]", name, got)
			}
		})
	}
}
