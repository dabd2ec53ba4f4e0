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

// What a replica pays grows with its jobs and with their fires, so both are kept
// small: counts, which do not depend on the machine. Not parallel, since others
// allocate, too.

// mostAllocs and mostFireBytes bound the allocations of one fire, from the heap of
// due jobs to the release of its lease. Alone it takes 1,635 bytes; with the whole
// package's tests before it up to 3 % more, as the pools begin empty.
const (
	mostAllocs    = 8
	mostFireBytes = 1750
)

func TestFireIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, seconds = 500, 20
		var fires atomic.Int64
		list := manyOf(t, n, "@every 1s", func(context.Context, jobs.Run) error {
			fires.Add(1)
			return nil
		})
		for i := range list {
			list[i].CatchUp, list[i].Timeout, list[i].Retry = scheduler.CatchUp{}, 0, scheduler.Retry{}
		}
		running(t, nil, list)
		time.Sleep(2*time.Minute + time.Second/2) // what happens once is over
		var before, after runtime.MemStats
		begun, goroutines := fires.Load(), goroutinesBegun(t)
		runtime.ReadMemStats(&before)
		time.Sleep(seconds * time.Second)
		runtime.ReadMemStats(&after)
		if got := fires.Load() - begun; got != n*seconds {
			t.Fatalf("%d jobs fired %d times in %d s, want %d", n, got, seconds, n*seconds)
		}
		per := float64(after.Mallocs-before.Mallocs) / float64(n*seconds)
		bytes := (after.TotalAlloc - before.TotalAlloc) / (n * seconds)
		t.Logf("%.4f allocations, %d bytes per fire", per, bytes)
		if per > mostAllocs || bytes > mostFireBytes {
			t.Errorf("%.1f allocations, %d bytes per fire, want at most %d and %d", per, bytes, mostAllocs, mostFireBytes)
		}
		if some := goroutinesBegun(t) - goroutines; some > n*seconds/10 {
			t.Errorf("%d goroutines were begun for %d fires: those that are there should do", some, n*seconds)
		}
	})
}

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
