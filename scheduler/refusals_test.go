package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler"
)

// overtaken returns a guard that has seen a token larger than the run's by one.
func overtaken(t *testing.T, resource string, run jobs.Run) fence.Guard {
	t.Helper()
	guard := fence.NewMemory()
	if err := guard.Admit(context.Background(), locking.Claim{Name: resource, Token: run.Token + 1}); err != nil {
		t.Error(err)
	}
	return guard
}

// A refused write is logged with both tokens, counted and reported, whatever the function
// does with the error.
func TestStaleWritesAreAccountedFor(t *testing.T) {
	t.Parallel()
	errWrapped := errors.New("saving")
	tests := map[string]struct {
		do     func(ctx context.Context, run jobs.Run, write func(resource string) error) error
		ledger string // T is the run's token, S the sink's
		count  int
	}{
		"returned": {
			func(_ context.Context, _ jobs.Run, write func(string) error) error {
				return errors.Join(errWrapped, write("j"))
			},
			"10s failed: 1 stale write refused (token T, the sink has seen S)", 1,
		},
		"swallowed, twice": {
			func(_ context.Context, _ jobs.Run, write func(string) error) error {
				_, _ = write("j"), write("j")
				return nil
			},
			"10s succeeded: 2 stale writes refused (token T, the sink has seen S)", 2,
		},
		"another resource": {
			func(_ context.Context, _ jobs.Run, write func(string) error) error {
				_ = write("orders")
				return jobs.Skip("no orders")
			},
			"10s skipped: no orders; 1 stale write refused (token T, orders has seen S)", 1,
		},
		"in a goroutine": {
			func(_ context.Context, _ jobs.Run, write func(string) error) error {
				errs := make(chan error, 3)
				for range 3 {
					go func() { errs <- write("j") }()
				}
				return errors.Join(<-errs, <-errs, <-errs)
			},
			"10s failed: 3 stale writes refused (token T, the sink has seen S)", 3,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				var log bytes.Buffer
				job := every(t, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
					return tt.do(ctx, run, func(resource string) error {
						return overtaken(t, resource, run).Admit(ctx, fence.For(resource, run))
					})
				}))
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
					cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
				}, job))
				time.Sleep(19 * time.Second)
				c.stop(stop)
				e := c.ticks("j")[0]
				names := strings.NewReplacer("T,", fmt.Sprint(e.Token, ","), "S)", fmt.Sprint(e.Token+1, ")"))
				c.wantTicks("j", names.Replace(tt.ledger))
				if e.StaleWrites != tt.count {
					t.Errorf("counted %d, want %d", e.StaleWrites, tt.count)
				}
				c.saw(tt.count, "refused j 10s")
				lines := strings.Count(log.String(), "level=WARN msg=\"stale write refused\"")
				seen := strings.Count(log.String(), fmt.Sprintf(" token=%d ", e.Token))
				if lines != tt.count || seen < lines || strings.Count(log.String(), fmt.Sprintf(" seen=%d", e.Token+1)) != lines {
					t.Errorf("want %d lines on stale writes, with both tokens, in the log:\n%s", tt.count, log.String())
				}
			})
		})
	}
}

// The purpose of tokens: a holder frozen past its lease writes after the next one has. Its
// late record has the refusals.
func TestFrozenHolderIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		guard := fence.NewMemory()
		write := func(ctx context.Context, run jobs.Run) error {
			if run.Replica == "r1" {
				time.Sleep(15 * time.Second) // frozen: it neither extends nor sees its context end
			}
			return guard.Admit(ctx, run)
		}
		c.locker = fixedLeases{c.locks}
		r1 := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(write))))
		time.Sleep(11 * time.Second)
		c.locker = c.locks
		r2 := c.start(c.replica("r2", nil, every(t, "10s", "j", c.handler(write))))
		time.Sleep(18 * time.Second)
		c.stop(r1)
		c.stop(r2)
		ticks := c.ticks("j")
		c.wantTicks("j", fmt.Sprintf("10s lease_lost: the lease could not be kept; 1 stale write refused (token %d, the sink has seen %d)",
			ticks[0].Token, ticks[1].Token), "20s succeeded")
		c.saw(1, "r1: refused j 10s")
	})
}

// A run without refusals does not mention them.
func TestGoodWritesAreNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		guard := fence.NewMemory()
		stop := c.start(c.replica("r1", nil, every(t, "10s", "j", c.handler(func(ctx context.Context, run jobs.Run) error {
			return errors.Join(guard.Admit(ctx, run), guard.Admit(ctx, run))
		}))))
		time.Sleep(29 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "10s succeeded", "20s succeeded")
		c.saw(0, "refused")
	})
}
