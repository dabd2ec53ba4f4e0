package scheduler_test

import (
	"context"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// Ticks that come together begin at once, however long the functions of those before
// them take.
func TestNobodyWaitsBehindWhatLasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		began := make(chan time.Time, n)
		list := manyOf(t, n, "@every 1m", func(ctx context.Context, _ jobs.Run) error {
			began <- time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			return nil
		})
		running(t, nil, list)
		for range 3 {
			time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
			for range n {
				if at := <-began; at.Second() != 0 || at.Nanosecond() != 0 {
					t.Fatalf("a function began at %v", at)
				}
			}
		}
	})
}

// Goroutines that are done with an attempt stay for the next, also where each function
// waits for something.
func TestGoroutinesStayForTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, seconds = 100, 20
		list := manyOf(t, n, "@every 1s", func(context.Context, jobs.Run) error {
			time.Sleep(time.Millisecond)
			return nil
		})
		for i := range list {
			list[i].CatchUp, list[i].Timeout, list[i].Retry = scheduler.CatchUp{}, 0, scheduler.Retry{}
		}
		running(t, nil, list)
		time.Sleep(2*time.Minute + time.Second/2)
		before := goroutinesBegun(t)
		time.Sleep(seconds * time.Second)
		if some := goroutinesBegun(t) - before; some > n*seconds/10 {
			t.Errorf("%d goroutines were begun for %d fires: those that are there should do", some, n*seconds)
		}
	})
}

// goroutinesBegun is how many there have been.
func goroutinesBegun(t *testing.T) uint64 {
	t.Helper()
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		t.Fatal("the runtime does not count goroutines")
	}
	return sample[0].Value.Uint64()
}
