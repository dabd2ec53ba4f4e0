package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

func lasting(d time.Duration) jobs.Handler {
	return func(context.Context, jobs.Run) error {
		time.Sleep(d)
		return nil
	}
}

func TestOverlapSkip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lasts  time.Duration
		ledger []string
	}{
		{"a run that ends within the next window", 1300 * time.Millisecond, []string{
			"1s succeeded", "2s succeeded", "3s succeeded", "4s succeeded",
		}},
		{"a run over several ticks", 3500 * time.Millisecond, []string{
			"1s succeeded",
			"2s skipped: overlap: r1 still holds the lease of tick 2000-01-01T00:00:01Z until 2000-01-01T00:00:05.4Z",
			"3s skipped: overlap: r1 still holds the lease of tick 2000-01-01T00:00:01Z until 2000-01-01T00:00:06.8Z",
			"4s succeeded",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				stop := c.start(c.replica("r1", func(cfg *scheduler.Config) {
					cfg.ExtendEvery = 700 * time.Millisecond // never when a window closes
				}, every(t, "1s", "j", c.handler(lasting(tt.lasts)))))
				time.Sleep(4950 * time.Millisecond)
				c.stop(stop)
				c.wantTicks("j", tt.ledger...)
			})
		})
	}
}

// The lease that a dead replica left behind is outwaited within the window; the
// ticks whose window closes before are skipped and name it.
func TestLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		time.Sleep(time.Second)
		dead, err := c.locks.TryAcquire(t.Context(), locking.Request{
			Name: "j", Tick: time.Now(), TTL: 2500 * time.Millisecond, Holder: "dead",
			Note: scheduler.EncodeNote(scheduler.Entry{Outcome: scheduler.Running, Replica: "dead"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = dead // never extended, never released; its lease ends at 3.5 s
		a := c.start(c.replica("r1", nil, every(t, "1s", "j", c.handler(nil))))
		b := c.start(c.replica("r2", nil, every(t, "1s", "j", c.handler(nil))))
		time.Sleep(3950 * time.Millisecond)
		c.stop(a)
		c.stop(b)
		c.wantTicks("j",
			"1s interrupted: the lease ran out without a word of how the run ended",
			"2s skipped: overlap: dead still holds the lease of tick 2000-01-01T00:00:01Z until 2000-01-01T00:00:03.5Z",
			"3s succeeded", "4s succeeded",
		)
		if at := c.at(c.ticks("j")[2].Started); at < 3500*time.Millisecond {
			t.Errorf("tick 3s started at %v, under the lease of the dead", at)
		}
	})
}
