package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// rows is a Source like a database table.
type rows struct {
	mu    sync.Mutex
	jobs  []jobs.Job
	err   error
	asked int
}

func (r *rows) set(err error, list ...jobs.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs, r.err = list, err
}

func (r *rows) Jobs(context.Context) ([]jobs.Job, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.jobs, r.err
}

// TestSource: jobs follow the Source; a failure changes nothing, and is reported once, and
// so is its end.
func TestSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		fixed := every(t, "10s", "fixed", c.handler(nil))
		table := &rows{}
		s := c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Source, cfg.SourceEvery = table, 5*time.Second
		}, fixed)
		ada, bob := every(t, "10s", "ada", c.handler(nil)), every(t, "10s", "bob", c.handler(nil))
		table.set(nil, ada, bob)
		stop := c.start(s)
		time.Sleep(11 * time.Second) // asked at 0, 5 and 10
		table.set(nil, ada)
		time.Sleep(5 * time.Second) // without bob
		table.set(errors.New("database is down"))
		time.Sleep(20 * time.Second) // asked at 20, 25, 30 and 35
		table.set(nil, fixed)
		time.Sleep(5 * time.Second) // a name of its own
		table.set(nil, every(t, "1s", "eve", c.handler(nil)))
		s.Refresh() // at 41
		time.Sleep(1500 * time.Millisecond)
		c.stop(stop)
		c.wantTicks("fixed", "10s succeeded", "20s succeeded", "30s succeeded", "40s succeeded")
		c.wantTicks("ada", "10s succeeded", "20s succeeded", "30s succeeded", "40s succeeded")
		c.wantTicks("bob", "10s succeeded")
		c.wantTicks("eve", "42s succeeded")
		c.saw(1, "update failed: reading the jobs: database is down")
		c.saw(1, `update failed: scheduler: job "fixed" is listed twice`)
		c.saw(1, "update failed: <nil>")
		if table.asked != 10 {
			t.Errorf("asked %d times", table.asked)
		}
	})
}

// TestSourceThatHangs is given up after a timeout, and does not delay the end.
func TestSourceThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		source := scheduler.SourceFunc(func(ctx context.Context) ([]jobs.Job, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		s := c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Source = source
		}, every(t, "1s", "j", c.handler(nil)))
		stop := c.start(s)
		time.Sleep(31 * time.Second)
		c.saw(1, "update failed: reading the jobs: context deadline exceeded")
		time.Sleep(30 * time.Second) // it hangs again
		begun := time.Now()
		c.stop(stop)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Run ended after %v", took)
		}
	})
}

// TestSourceSurvivesUpdate: the jobs of Update and those of the source are two
// sets.
func TestSourceSurvivesUpdate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		ada := every(t, "10s", "ada", c.handler(nil))
		s := c.replica("r1", func(cfg *scheduler.Config) {
			cfg.Source = scheduler.SourceFunc(func(context.Context) ([]jobs.Job, error) { return []jobs.Job{ada}, nil })
		})
		stop := c.start(s)
		time.Sleep(time.Second)
		if got := c.update(s, every(t, "10s", "own", c.handler(nil))); got != "added own" {
			t.Errorf("the update: %s", got)
		}
		time.Sleep(10 * time.Second)
		c.stop(stop)
		c.wantTicks("own", "10s succeeded")
		c.wantTicks("ada", "10s succeeded")
	})
}

// A table that is being filled anew lacks most jobs: they stay until the Source says the same again.
func TestSourceThatLacksMostJobs(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]int{"all": 0, "most": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				table := &rows{}
				s := c.replica("r1", func(cfg *scheduler.Config) {
					cfg.Source, cfg.SourceEvery = table, 10*time.Second
				})
				ada, bob, eve := every(t, "10s", "ada", c.handler(nil)), every(t, "10s", "bob", c.handler(nil)), every(t, "10s", "eve", c.handler(nil))
				whole := []jobs.Job{ada, bob, eve}
				table.set(nil, whole...)
				time.Sleep(500 * time.Millisecond) // no answer comes with a tick
				stop := c.start(s)
				time.Sleep(11 * time.Second)
				table.set(nil, whole[:left]...)
				s.Refresh()
				time.Sleep(2 * time.Second)
				s.Refresh() // too soon for a second look
				time.Sleep(2 * time.Second)
				table.set(nil, whole...)
				time.Sleep(8 * time.Second) // asked at 20
				table.set(nil, whole[:left]...)
				time.Sleep(18 * time.Second) // asked at 30, which does not count yet
				c.saw(2, fmt.Sprintf("update failed: may be half written: %d of 3 jobs are gone", 3-left))
				time.Sleep(7 * time.Second) // asked at 40
				c.stop(stop)
				c.wantTicks("eve", "10s succeeded", "20s succeeded", "30s succeeded", "40s succeeded")
			})
		})
	}
}
