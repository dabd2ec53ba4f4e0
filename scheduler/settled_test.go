package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
)

// A tick that no replica ran is reported by one of them, a tick that another ran by none.
func TestSettledIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var mu sync.Mutex
		var told []string
		var stops []func() error
		for _, id := range []string{"a", "b", "c"} {
			stops = append(stops, c.start(c.replica(id, func(cfg *scheduler.Config) {
				cfg.NotifySettled = true
				on(cfg, event.Settled, func(e event.Event) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, fmt.Sprint(e.Entry.Job, " ", c.at(e.Entry.Tick), " ", e.Entry.Outcome))
				})
			}, every(t, "10s", "long", func(ctx context.Context, _ jobs.Run) error {
				<-time.After(25 * time.Second)
				return nil
			}), every(t, "10s", "short", c.handler(nil)))))
		}
		time.Sleep(55 * time.Second) // 10s runs until 35s, 30s until 60s
		mu.Lock()
		slices.Sort(told)
		if got, want := fmt.Sprint(told), "[long 20s skipped long 40s skipped]"; got != want {
			t.Errorf("told %s, want %s", got, want)
		}
		mu.Unlock()
		for _, stop := range stops {
			c.stop(stop)
		}
	})
}
