package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

// once is a schedule of a single tick.
type once time.Time

func (o once) Next(after time.Time) time.Time {
	if at := time.Time(o); at.After(after) {
		return at
	}
	return time.Time{}
}

// dueAtOnce runs n jobs that are due at one instant on a replica with a number of places, 0
// for no limit, and functions that return at once. It returns the time from the tick until
// the last has run, and its processor time.
func dueAtOnce(tb testing.TB, n, places int) (took, used time.Duration) {
	tb.Helper()
	var runs atomic.Int64
	var last atomic.Int64 // Unix nanoseconds
	list := make([]jobs.Job, n)
	at := time.Now().Add(2 * time.Second)
	for i := range list {
		list[i] = jobs.Job{
			Name: fmt.Sprintf("job-%06d", i), Schedule: once(at),
			Handler: func(context.Context, jobs.Run) error {
				if runs.Add(1) == int64(n) {
					last.Store(time.Now().UnixNano())
				}
				return nil
			},
		}
	}
	s, err := scheduler.New(scheduler.Config{
		Replica: "a", Stores: scheduler.Stores{Locker: new(granting), Ledger: forgetful{}}, MaxRunning: places, Window: time.Hour,
	}, list)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	time.Sleep(time.Until(at.Add(-50 * time.Millisecond)))
	used = cpu(tb)
	for last.Load() == 0 {
		time.Sleep(50 * time.Millisecond)
	}
	used = cpu(tb) - used
	cancel()
	if err := <-ended; err != nil {
		tb.Error(err)
	}
	return time.Unix(0, last.Load()).Sub(at), used
}

// A limit costs little per tick, however many wait.
func TestManyWaitForAPlace(t *testing.T) {
	const n, rounds = 10_000, 3
	measure := func(places int) (used time.Duration) {
		synctest.Test(t, func(t *testing.T) { _, used = dueAtOnce(t, n, places) })
		return used
	}
	var free, limited []time.Duration
	for range rounds {
		free, limited = append(free, measure(0)), append(limited, measure(n/40))
	}
	ratio := float64(slices.Min(limited)) / float64(slices.Min(free))
	t.Logf("%.2f times the processor time without a limit (%v, %v)", ratio, limited, free)
	if ratio > 5 { // with the race detector up to 2.4; a quadratic cost takes 14
		t.Errorf("%d ticks with a limit take %.1f times the processor time that they take without, want at most 5", n, ratio)
	}
}

// BenchmarkDueAtOnce reports how much longer ticks of one instant take with a limit of 1000
// runs. Run it with -benchtime 1x.
func BenchmarkDueAtOnce(b *testing.B) {
	for _, n := range []int{10_000, 20_000, 40_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var free, limited []time.Duration
				for range 5 {
					took, _ := dueAtOnce(b, n, 0)
					free = append(free, took)
					took, _ = dueAtOnce(b, n, 1000)
					limited = append(limited, took)
				}
				slices.Sort(free)
				slices.Sort(limited)
				b.ReportMetric(free[2].Seconds(), "s/free")
				b.ReportMetric(limited[2].Seconds(), "s/limited")
				b.ReportMetric(limited[2].Seconds()/free[2].Seconds(), "ratio")
			}
		})
	}
}
