package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// update replaces the jobs of s and returns the changes in words.
func (c *cluster) update(s *scheduler.Scheduler, list ...jobs.Job) string {
	c.t.Helper()
	diff, err := s.Update(list)
	if err != nil {
		c.t.Fatalf("Update = %v", err)
	}
	return diff.String()
}

// TestUpdate: jobs come, change and go during a run, and ticks follow from the next one on.
func TestUpdate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := func(name, interval string) jobs.Job { return every(t, interval, name, c.handler(nil)) }
		s := c.replica("r1", nil, job("stays", "10s"), job("goes", "10s"), job("changes", "10s"))
		stop := c.start(s)
		time.Sleep(15 * time.Second)
		got := c.update(s, job("stays", "10s"), job("changes", "4s"), job("comes", "10s"))
		if want := "added comes; changed changes; removed goes"; got != want {
			t.Errorf("the update: %s, want %s", got, want)
		}
		if got := c.update(s, job("stays", "10s"), job("changes", "4s"), job("comes", "10s")); got != "nothing changed" {
			t.Errorf("the same again: %s", got)
		}
		time.Sleep(10 * time.Second)
		c.stop(stop)
		c.wantTicks("stays", "10s succeeded", "20s succeeded")
		c.wantTicks("goes", "10s succeeded")
		c.wantTicks("changes", "10s succeeded", "16s succeeded", "20s succeeded", "24s succeeded")
		c.wantTicks("comes", "20s succeeded")
		c.saw(1, "updated added comes")
	})
}

// TestUpdateLeavesRunsAlone: a run continues to its end with its first definition, whatever
// happens to its job.
func TestUpdateLeavesRunsAlone(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"changed", "removed"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				first := every(t, "10s", "j", c.handler(func(ctx context.Context, _ jobs.Run) error {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(7 * time.Second):
						return nil
					}
				}))
				s := c.replica("r1", nil, first)
				stop := c.start(s)
				time.Sleep(12 * time.Second) // 2 s into the run
				second := every(t, "10s", "j", c.handler(nil))
				second.Timeout = time.Second
				if what == "changed" {
					c.update(s, second)
				} else {
					c.update(s)
				}
				if running := s.Snapshot().Running; len(running) != 1 || running[0].Job != "j" {
					t.Errorf("running: %+v", running)
				}
				time.Sleep(10 * time.Second)
				c.stop(stop)
				want := []string{"10s succeeded", "20s succeeded"}
				if what == "removed" {
					want = want[:1]
				}
				c.wantTicks("j", want...)
			})
		})
	}
}

// TestRemovedTicksAreAccountedFor: due ticks of a removed job are recorded: the one that
// waits, and one delayed by jitter.
func TestRemovedTicksAreAccountedFor(t *testing.T) {
	t.Parallel()
	const reason = "skipped: removed: the job was taken out of this replica's configuration"
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		long := every(t, "10s", "waits", c.handler(func(context.Context, jobs.Run) error {
			time.Sleep(15 * time.Second)
			return nil
		}))
		long.Overlap = jobs.OverlapQueue
		late := every(t, "10s", "late", c.handler(nil))
		late.Jitter = 9 * time.Second
		s := c.replica("r1", nil, long, late)
		stop := c.start(s)
		start := scheduler.Jitter("late", c.begun.Add(20*time.Second), 9*time.Second)
		time.Sleep(20*time.Second + start/2)
		c.update(s)
		time.Sleep(20 * time.Second)
		c.stop(stop)
		c.wantTicks("waits", "10s succeeded", "20s "+reason)
		c.wantTicks("late", "0s succeeded", "10s succeeded", "20s "+reason)
	})
}

// A delayed Locker is slow to answer.
type delayed struct {
	locking.Locker
	takes time.Duration
}

func (l delayed) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	time.Sleep(l.takes)
	return l.Locker.TryAcquire(ctx, req)
}

// TestRemovedJobsQueueIsAccountedFor: so is a tick that waits for an earlier one. That one
// runs if its claim was under way and is won.
func TestRemovedJobsQueueIsAccountedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.locker = delayed{c.locks, 2500 * time.Millisecond}
		s := c.replica("r1", nil, every(t, "2s", "j", c.handler(nil)))
		stop := c.start(s)
		time.Sleep(4200 * time.Millisecond)
		c.update(s)
		time.Sleep(5 * time.Second)
		c.stop(stop)
		c.wantTicks("j", "2s succeeded", "4s skipped: removed: the job was taken out of this replica's configuration")
	})
}

// TestRemovedJobComesBack: a job that comes back during its last run does not start another
// beside it.
func TestRemovedJobComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		deaf := every(t, "10s", "j", c.handler(func(context.Context, jobs.Run) error {
			time.Sleep(15 * time.Second)
			return nil
		}))
		s := c.replica("r1", func(cfg *scheduler.Config) { cfg.MaxHold = 4 * time.Second }, deaf)
		stop := c.start(s)
		time.Sleep(11 * time.Second)
		c.update(s)
		time.Sleep(time.Second)
		c.update(s, deaf)
		time.Sleep(10 * time.Second) // its lease has gone, the function has not
		if running := s.Snapshot().Running; len(running) != 1 {
			t.Errorf("running: %+v", running)
		}
		time.Sleep(4 * time.Second)
		c.stop(stop)
		if n := len(c.runs); n > 2 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestRename: a renamed job keeps its ledger, and no tick runs twice or is lost, with
// either name on any replica.
func TestRename(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		was := every(t, "1s", "was", c.handler(nil))
		is := was
		is.Name, is.Key = "is", "was"
		a, b := c.replica("a", nil, was), c.replica("b", nil, was)
		stopA, stopB := c.start(a), c.start(b)
		time.Sleep(10 * time.Second)
		if got := c.update(a, is); got != "renamed was to is" {
			t.Errorf("the update: %s", got)
		}
		time.Sleep(10 * time.Second)
		c.update(b, is)
		time.Sleep(9500 * time.Millisecond)
		again := is
		again.Name, again.Key = "third", "is"
		if _, err := a.Update([]jobs.Job{again}); err == nil || !strings.Contains(err.Error(), `keep that key`) {
			t.Errorf("a chain of renames that forgets the first: %v", err)
		}
		c.stop(stopA)
		c.stop(stopB)
		names := map[string]int{}
		for _, run := range c.runs {
			names[run.Job]++
			if resource, _ := run.Fence(); resource != "was" {
				t.Errorf("%s writes to %s", run.ID, resource)
			}
		}
		var want []string
		for i := range 29 {
			want = append(want, fmt.Sprintf("%ds succeeded", i+1))
		}
		c.wantTicks("was", want...)
		if len(c.runs) != 29 || names["is"] < 9 || names["was"] < 10 {
			t.Errorf("%d runs, by name %v", len(c.runs), names)
		}
	})
}

// TestUpdateIsAllOrNothing: an update with a mistake changes nothing.
func TestUpdateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		job := every(t, "1s", "j", c.handler(nil))
		s := c.replica("r1", nil, job)
		stop := c.start(s)
		_, err := s.Update([]jobs.Job{every(t, "1s", "other", c.handler(nil)), {Name: "bad"}, {}})
		if err == nil || !strings.Contains(err.Error(), "no schedule") || !strings.Contains(err.Error(), "no name") {
			t.Errorf("Update = %v, want every mistake", err)
		}
		time.Sleep(2500 * time.Millisecond)
		c.stop(stop)
		c.wantTicks("j", "1s succeeded", "2s succeeded")
		c.wantTicks("other")
	})
}

// TestUpdateBeforeAndAfterRun: before Run it replaces the jobs of New; after it, and during
// the drain, it is an error.
func TestUpdateBeforeAndAfterRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		slow := every(t, "1s", "slow", c.handler(func(context.Context, jobs.Run) error {
			time.Sleep(5 * time.Second)
			return nil
		}))
		s := c.replica("r1", nil, every(t, "1s", "j", c.handler(nil)))
		if got := c.update(s, slow); got != "added slow; removed j" {
			t.Errorf("the update: %s", got)
		}
		stop := c.start(s)
		time.Sleep(1500 * time.Millisecond)
		ended := make(chan error)
		go func() { ended <- stop() }()
		synctest.Wait()
		if _, err := s.Update(nil); !errors.Is(err, scheduler.ErrStopped) {
			t.Errorf("Update in the drain = %v, want ErrStopped", err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := s.Update(nil); !errors.Is(err, scheduler.ErrStopped) {
			t.Errorf("Update after Run = %v, want ErrStopped", err)
		}
		c.wantTicks("slow", "1s succeeded")
		c.wantTicks("j")
	})
}

// TestUpdateOfManyJobs: 30 000 jobs are added while others tick.
func TestUpdateOfManyJobs(t *testing.T) {
	t.Parallel()
	schedule := every(t, "24h", "x", nil).Schedule
	var many []jobs.Job
	for i := range 30_000 {
		many = append(many, jobs.Job{
			Name: fmt.Sprintf("job-%06d", i), Schedule: schedule, Hash: "1",
			Handler: func(context.Context, jobs.Run) error { return nil },
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		second := every(t, "1s", "second", c.handler(nil))
		s := c.replica("r1", nil, second)
		stop := c.start(s)
		time.Sleep(1500 * time.Millisecond)
		if got, err := s.Update(append(slices.Clone(many), second)); err != nil || len(got.Added) != 30_000 {
			t.Errorf("Update = %d added, %v", len(got.Added), err)
		}
		if n := len(s.Snapshot().Next); n != 30_001 {
			t.Errorf("%d jobs are planned", n)
		}
		changed := slices.Clone(many[:15_000])
		for i := range changed {
			changed[i].Hash = "2"
		}
		got, err := s.Update(append(changed, second))
		if err != nil || len(got.Changed) != 15_000 || len(got.Removed) != 15_000 {
			t.Errorf("Update = %d changed, %d removed, %v", len(got.Changed), len(got.Removed), err)
		}
		time.Sleep(2 * time.Second)
		if n := len(s.Snapshot().Next); n != 15_001 {
			t.Errorf("%d jobs are planned", n)
		}
		c.stop(stop)
		c.wantTicks("second", "1s succeeded", "2s succeeded", "3s succeeded")
	})
}
