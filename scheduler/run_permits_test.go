package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A gauge counts concurrent runs, and keeps their order.
type gauge struct {
	mu        sync.Mutex
	now, most int
	order     []string
}

// lasting returns a function that takes d.
func (g *gauge) lasting(d time.Duration) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		g.mu.Lock()
		g.now++
		g.most = max(g.most, g.now)
		g.order = append(g.order, run.Job)
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			g.now--
			g.mu.Unlock()
		}()
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func places(n int) func(*scheduler.Config) {
	return func(cfg *scheduler.Config) { cfg.MaxRunning = n }
}

// A replica runs no more than its places at once; waiting ticks go by priority, and still
// run in their windows.
func TestMaxRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, g := newCluster(t), new(gauge)
		var list []jobs.Job
		for i, priority := range []int{0, 5, 0, 9, 1, 0} {
			job := every(t, "10s", fmt.Sprintf("j%d", i), c.handler(g.lasting(2*time.Second)))
			job.Priority = priority
			list = append(list, job)
		}
		stop := c.start(c.replica("r1", places(2), list...))
		time.Sleep(19 * time.Second)
		c.stop(stop)
		for _, job := range list {
			c.wantTicks(job.Name, "10s succeeded")
		}
		if g.most != 2 {
			t.Errorf("%d runs at once, want 2", g.most)
		}
		if got := strings.Join(g.order[:3], " "); got != "j3 j1 j4" {
			t.Errorf("began in the order %v, want j3, j1 and j4 first", g.order)
		}
	})
}

// A tick without a place until its window closes is skipped; a place is free when the
// function has returned, not when its lease has ended.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		deaf := every(t, "20s", "deaf", c.handler(func(context.Context, jobs.Run) error {
			time.Sleep(12 * time.Second)
			return nil
		}))
		deaf.Timeout, deaf.Priority = time.Second, 1
		quick := every(t, "5s", "quick", c.handler(nil))
		stop := c.start(c.replica("r1", places(1), quick, deaf))
		time.Sleep(39 * time.Second)
		c.stop(stop)
		const full = " skipped: limit: this replica had no run permit for it until its window closed (scheduler.max_running: 1)"
		c.wantTicks("quick", "5s succeeded", "10s succeeded", "15s succeeded", "20s"+full, "25s"+full, "30s succeeded", "35s succeeded")
	})
}

// A tick without a place on one replica runs on another, and the first does not record it
// as skipped.
func TestPlaceElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		slow := every(t, "1h", "slow", c.handler(new(gauge).lasting(50*time.Minute)))
		slow.Labels = map[string]string{"disk": "fast"}
		quick := every(t, "10s", "quick", c.handler(nil))
		busy := c.start(c.replica("busy", func(cfg *scheduler.Config) { cfg.MaxRunning, cfg.Labels = 1, slow.Labels }, slow, quick))
		idle := c.start(c.replica("idle", places(1), slow, quick))
		time.Sleep(time.Hour + time.Minute)
		c.mu.Lock()
		began := len(c.runs)
		c.mu.Unlock()
		time.Sleep(5 * time.Minute)
		c.mu.Lock()
		runs := slices.Clone(c.runs[began:])
		c.mu.Unlock()
		for _, run := range runs {
			if run.Replica != "idle" {
				t.Errorf("%s ran tick %v", run.Replica, c.at(run.Tick))
			}
		}
		if len(runs) != 30 {
			t.Errorf("%d runs in 5 minutes, want 30", len(runs))
		}
		c.saw(0, "skipped")
		c.stop(idle)
		c.stop(busy)
	})
}

// An attempt that waits for a place ends at once when the replica drains.
func TestDrainEndsWaitingForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, g := newCluster(t), new(gauge)
		first := every(t, "10s", "first", c.handler(g.lasting(5*time.Second)))
		first.Priority = 1
		stop := c.start(c.replica("r1", places(1), first, every(t, "10s", "second", c.handler(nil))))
		time.Sleep(11 * time.Second)
		c.stop(stop)
		c.wantTicks("first", "10s succeeded")
		c.wantTicks("second", "10s missed: this replica drained before it could claim the tick")
	})
}

// A job that queues waits for a place as long as for a run of its own.
func TestQueuingForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		first := every(t, "1h", "first", c.handler(new(gauge).lasting(20*time.Minute)))
		second := every(t, "25m", "second", c.handler(nil))
		first.Priority, second.Overlap = 1, jobs.OverlapQueue
		stop := c.start(c.replica("r1", places(1), first, second))
		time.Sleep(81 * time.Minute)
		c.stop(stop)
		c.wantTicks("second", "20m0s succeeded", "45m0s succeeded", "1h10m0s succeeded")
		if began := c.at(c.ticks("second")[2].Started); began != 80*time.Minute {
			t.Errorf("the tick that waited began at %v, want 1h20m", began)
		}
	})
}

// A tick that waits for another replica's run of its job keeps no place from
// others.
func TestWaitingKeepsNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		kept, other := every(t, "10s", "kept", c.handler(nil)), every(t, "10s", "other", c.handler(nil))
		kept.Priority = 1
		stop := c.start(c.replica("r1", places(1), kept, other))
		time.Sleep(9 * time.Second)
		if _, err := c.locks.TryAcquire(t.Context(), locking.Request{Name: "kept", TTL: 5 * time.Second, Holder: "gone"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		c.stop(stop)
		c.wantTicks("kept", "10s succeeded")
		c.wantTicks("other", "10s succeeded")
		if began := c.at(c.ticks("other")[0].Started); began > 11*time.Second {
			t.Errorf("other began at %v, after the tick that waits", began)
		}
	})
}
