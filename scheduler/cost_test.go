package scheduler_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// What a replica keeps grows with its jobs, so it is bounded. Not parallel, since others
// allocate, too.

// mostBytes bounds what a replica keeps of a job that waits for its tick: the
// definition, its place in the engine, what is published. The texts of the
// definition, and its schedule, belong to whoever made it.
const mostBytes = 896

func TestIdleJobIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4000
		list := manyOf(t, n, "H 2 * * *", func(context.Context, jobs.Run) error { return nil })
		before := heapBytes()
		running(t, forgetful{}, list)
		time.Sleep(2 * time.Minute) // until all pasts are looked up, and all is published
		per := (heapBytes() - before) / n
		t.Logf("%d bytes per job", per)
		if per > mostBytes {
			t.Errorf("%d bytes per job, want at most %d", per, mostBytes)
		}
		runtime.KeepAlive(list)
	})
}

// listed counts how often all published jobs are read.
type listed struct {
	forgetful
	times atomic.Int64
}

func (l *listed) Jobs(context.Context) ([]scheduler.JobInfo, error) {
	l.times.Add(1)
	return nil, nil
}

// An update of many jobs, which the loop takes in step by step, reads what is
// published for all steps together: once for the publisher, once for their pasts.
func TestUpdateOfManyReadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		roster := new(listed)
		s := running(t, roster, nil)
		time.Sleep(time.Second)
		before := roster.times.Load()
		if _, err := s.Update(manyOf(t, 10_000, "H 2 * * *", func(context.Context, jobs.Run) error { return nil })); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if times := roster.times.Load() - before; times != 2 {
			t.Errorf("what is published was read %d times, want 2", times)
		}
	})
}
