package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// TestTwoVersions: while two versions of a job are served, a tick of both runs once, in the
// winner's version, and a tick of one version runs on a replica with it. The ledger has the
// version that ran.
func TestTwoVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		version := func(interval, hash string) jobs.Job {
			j := every(t, interval, "j", c.handler(nil))
			j.Hash = hash
			return j
		}
		for _, id := range []string{"a", "b"} {
			defer c.stop(c.start(c.replica("old-"+id, nil, version("2s", "v1"))))
			defer c.stop(c.start(c.replica("new-"+id, nil, version("3s", "v2"))))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		ran := map[string]int{}
		for _, e := range c.ticks("j") {
			at := c.at(e.Tick)
			if e.Outcome != ledger.Succeeded {
				t.Errorf("tick %v: %s: %s", at, e.Outcome, e.Reason)
			}
			if old := strings.HasPrefix(e.Replica, "old"); old != (e.Hash == "v1") || old && at%(2*time.Second) > 0 || !old && at%(3*time.Second) > 0 {
				t.Errorf("tick %v was run by %s as %s", at, e.Replica, e.Hash)
			}
			if at%(6*time.Second) == 0 {
				ran[e.Hash]++
			}
		}
		// 60 ticks of two seconds and 40 of three, 20 of them the same.
		if n := len(c.ticks("j")); n != 80 || len(c.runs) != 80 {
			t.Errorf("%d ticks, %d runs, want 80", n, len(c.runs))
		}
		if ran["v1"] == 0 || ran["v2"] == 0 {
			t.Errorf("of the ticks that both have, versions won %v", ran)
		}
	})
}

// TestTickSkippedByOneVersionAndRunByTheOther: an earlier run blocks a tick by the rule of
// each replica's version: one waits and gets it later, the other skips it, and the run
// replaces the skip.
func TestTickSkippedByOneVersionAndRunByTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		slow := func(o jobs.Overlap) jobs.Job {
			j := every(t, "20s", "j", c.handler(func(_ context.Context, run jobs.Run) error {
				if c.at(run.Tick) == 20*time.Second {
					time.Sleep(26 * time.Second)
				}
				return nil
			}))
			j.Overlap = o
			return j
		}
		skips := c.start(c.replica("skips", func(cfg *scheduler.Config) { cfg.Window = 5 * time.Second }, slow(jobs.OverlapSkip)))
		queues := c.start(c.replica("queues", nil, slow(jobs.OverlapQueue)))
		time.Sleep(65 * time.Second)
		c.stop(skips)
		c.stop(queues)
		c.wantTicks("j", "20s succeeded", "40s succeeded", "1m0s succeeded")
		if e := c.ticks("j")[1]; e.Replica != "queues" {
			t.Errorf("tick 40s was run by %s", e.Replica)
		}
	})
}

// TestRollingRestart: all replicas are restarted one after the other, each time with
// another version of the job, during a minute of a tick a second. No tick is lost, none
// runs twice.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := func(version int) jobs.Job {
			j := every(t, "1s", "j", c.handler(func(context.Context, jobs.Run) error {
				time.Sleep(300 * time.Millisecond)
				return nil
			}))
			j.Hash = fmt.Sprint("v", version)
			return j
		}
		var stops []func() error
		for i := range 3 {
			stops = append(stops, c.start(c.replica(fmt.Sprintf("r%d-0", i), nil, job(0))))
		}
		for round := 1; round <= 4; round++ {
			for i := range stops {
				time.Sleep(4700 * time.Millisecond) // each time at another moment between two ticks
				c.stop(stops[i])
				stops[i] = c.start(c.replica(fmt.Sprintf("r%d-%d", i, round), nil, job(round)))
			}
		}
		time.Sleep(time.Minute - 12*4700*time.Millisecond + 500*time.Millisecond)
		for _, stop := range stops {
			c.stop(stop)
		}
		seen := map[string]int{}
		for _, run := range c.runs {
			seen[run.ID]++
		}
		versions := map[string]bool{}
		for i, e := range c.ticks("j") {
			if at := c.at(e.Tick); at != time.Duration(i+1)*time.Second || e.Outcome != ledger.Succeeded || seen[e.ID()] != 1 {
				t.Errorf("tick %v: %s, %d runs: %s", at, e.Outcome, seen[e.ID()], e.Reason)
			}
			versions[e.Hash] = true
		}
		if n := len(c.ticks("j")); n < 60 || len(versions) != 5 {
			t.Errorf("%d ticks of %d versions", n, len(versions))
		}
	})
}
