package scheduler_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/roster"
)

// A replica's memory grows with its jobs, so it is bounded. Not parallel, since others
// allocate, too.

// maxBytes bounds a replica's memory for a waiting job: the definition, its place in the
// engine, its publication. The texts of the definition, and its schedule, do not count.
const maxBytes = 896

func TestIdleJobIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4000
		list := manyOf(t, n, "H 2 * * *", func(context.Context, jobs.Run) error { return nil })
		before := heapBytes()
		running(t, forgetful{}, list)
		time.Sleep(2 * time.Minute) // until all pasts are read, and all is published
		per := (heapBytes() - before) / n
		t.Logf("%d bytes per job", per)
		if per > maxBytes {
			t.Errorf("%d bytes per job, want at most %d", per, maxBytes)
		}
		runtime.KeepAlive(list)
	})
}

// listed counts the reads of all published jobs.
type listed struct {
	forgetful
	times atomic.Int64
}

func (l *listed) Jobs(context.Context) ([]roster.JobInfo, error) {
	l.times.Add(1)
	return nil, nil
}

// An update of many jobs in several steps reads the published versions once for the
// publisher and once for the pasts.
func TestUpdateOfManyReadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := new(listed)
		s := running(t, peers, nil)
		time.Sleep(time.Second)
		before := peers.times.Load()
		if _, err := s.Update(manyOf(t, 10_000, "H 2 * * *", func(context.Context, jobs.Run) error { return nil })); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if times := peers.times.Load() - before; times != 2 {
			t.Errorf("what is published was read %d times, want 2", times)
		}
	})
}
