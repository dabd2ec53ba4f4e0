package rows

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A start is one call of a job's function.
type start struct {
	job, replica string
	tick         time.Time
	late         time.Duration // behind the tick
}

// A book notes the starts of all replicas.
type book struct {
	takes atomic.Int64 // how long the functions run, a time.Duration

	mu     sync.Mutex
	starts []start
}

// run is the function of the jobs.
func (b *book) run(ctx context.Context, run jobs.Run) error {
	b.note(start{run.Job, run.Replica, run.Tick, time.Since(run.Tick)})
	takes := time.Duration(b.takes.Load())
	if takes == 0 {
		return nil
	}
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *book) note(s start) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts = append(b.starts, s)
}

// between returns the starts of ticks from first to before.
func (b *book) between(first, before time.Time) []start {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []start
	for _, s := range b.starts {
		if !s.tick.Before(first) && s.tick.Before(before) {
			list = append(list, s)
		}
	}
	return list
}

func jobName(i int) string { return fmt.Sprintf("job-%04d", i) }

// everySecond returns n jobs that tick each second, the given time apart.
func (b *book) everySecond(n int, apart time.Duration) []jobs.Job {
	var list []jobs.Job
	for i := range n {
		list = append(list, jobs.Job{
			Name: jobName(i), Handler: b.run,
			Schedule: schedule.Every{Interval: time.Second, Offset: time.Duration(i) * apart},
			Spec:     "@every 1s",
		})
	}
	return list
}

// runs counts the starts of each tick.
func runs(starts []start) map[string]int {
	n := map[string]int{}
	for _, s := range starts {
		n[s.name()]++
	}
	return n
}

// name is that of the job and its tick.
func (s start) name() string { return s.job + " " + s.tick.UTC().Format(time.RFC3339Nano) }

// idle returns n jobs of the same names whose next tick is far away.
func (b *book) idle(n int) []jobs.Job {
	list := b.everySecond(n, 0)
	for i := range list {
		list[i].Schedule, list[i].Spec = schedule.Every{Interval: 1000 * time.Hour}, "@every 1000h"
	}
	return list
}

// nextSecond returns a whole second that is at least the given time ahead.
func nextSecond(ahead time.Duration) time.Time {
	return time.Now().UTC().Add(ahead).Truncate(time.Second).Add(time.Second)
}

// sleep waits until then, unless ctx ends.
func sleep(ctx context.Context, then time.Time) error {
	select {
	case <-time.After(time.Until(then)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
