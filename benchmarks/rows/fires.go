package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/benchmarks/pairs"
	"github.com/quorate/quorate/benchmarks/plot"
	"github.com/quorate/quorate/benchmarks/report"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
)

const (
	sideLocal  = "quorate"
	sideRobfig = "robfig/cron"
)

// fires measures the processor time that a scheduler takes for each call of a
// job, without nodes.
func fires(ctx context.Context, env Env) (report.Section, error) {
	n, span := env.Size.Local, time.Duration(env.Size.LocalSpan)*time.Second
	s := report.Section{Method: fmt.Sprintf("%d jobs that tick every second, at the same instant, and do nothing but count; ours with a locker "+
		"that grants everything at once and a ledger that keeps nothing. Processor time of the process over %v, garbage collection included.", n, span)}
	lost, fewer := 0, 0
	plan := env.plan(report.Seconds)
	plan.Cold = true
	samples, err := pairs.Run(ctx, plan,
		pairs.Side{Name: sideLocal, Measure: func(ctx context.Context) (float64, error) {
			perFire, l, err := localFires(ctx, n, span, func() error { return nil })
			lost += l
			return perFire, err
		}},
		pairs.Side{Name: sideRobfig, Measure: func(ctx context.Context) (float64, error) {
			perFire, l, err := robfigFires(ctx, n, span)
			fewer += l
			return perFire, err
		}})
	if err != nil {
		return s, err
	}
	ticks := n * env.Size.LocalSpan * env.Size.Rounds
	s.Results = []report.Result{{
		What: fmt.Sprintf("CPU per fire, %d a second, without nodes", n), Unit: report.Seconds,
		Ours: samples.Median(sideLocal), Theirs: samples.Median(sideRobfig), Of: sideRobfig,
		Ratio: samples.Ratio(sideLocal, sideRobfig), Bound: report.RatioAtMost(2),
		Notes: []string{fmt.Sprintf("robfig/cron: %d fewer calls than seconds times jobs; it does not tell a job its tick", fewer)},
	}, {
		What: fmt.Sprintf("fires lost, of %d", ticks), Unit: report.Ticks, Ours: float64(lost), Bound: report.AtMost(0),
	}}
	s.Charts = []plot.Chart{bars("fires", fmt.Sprintf("Processor time per fire, %d a second, without nodes", n), report.Seconds, samples, sideLocal, sideRobfig)}
	return s, nil
}

// localFires returns the processor time per fire of ours, and how many ticks did
// not fire. It calls begin before the first tick that counts.
func localFires(ctx context.Context, n int, span time.Duration, begin func() error) (perFire float64, lost int, err error) {
	var from, counted atomic.Int64 // the first tick that counts, Unix milliseconds
	from.Store(math.MaxInt64)
	count := func(_ context.Context, run jobs.Run) error {
		if since := run.Tick.UnixMilli() - from.Load(); since >= 0 && since < span.Milliseconds() {
			counted.Add(1)
		}
		return nil
	}
	list := make([]scheduler.Job, n)
	for i := range list {
		list[i] = scheduler.Job{
			Name: fmt.Sprintf("job-%06d", i), Handler: count, Hash: "1",
			Schedule: scheduler.Every{Interval: time.Second},
		}
	}
	stop, err := local(ctx, list)
	if err != nil {
		return 0, 0, err
	}
	first := nextSecond(2 * time.Second)
	from.Store(first.UnixMilli())
	start := first.Add(-100 * time.Millisecond)
	err = errors.Join(sleep(ctx, start), begin())
	used, err2 := cpuBetween(ctx, start, span)
	if err = errors.Join(err, err2); err == nil {
		// What fired late counts as fired.
		err = sleep(ctx, first.Add(span+2*time.Second))
	}
	err = errors.Join(err, stop())
	fired := counted.Load()
	return used.Seconds() / float64(max(fired, 1)), n*int(span/time.Second) - int(fired), err
}

// robfigFires is localFires of robfig/cron.
func robfigFires(ctx context.Context, n int, span time.Duration) (perFire float64, fewer int, err error) {
	var counted atomic.Int64
	c := cron.New()
	job := cron.FuncJob(func() { counted.Add(1) })
	for range n {
		c.Schedule(cron.Every(time.Second), job)
	}
	c.Start()
	start := nextSecond(2 * time.Second).Add(-100 * time.Millisecond)
	if err := sleep(ctx, start); err != nil {
		return 0, 0, err
	}
	before := counted.Load()
	used, err := cpuBetween(ctx, start, span)
	fired := counted.Load() - before
	<-c.Stop().Done()
	return used.Seconds() / float64(max(fired, 1)), n*int(span/time.Second) - int(fired), err
}

// cpuBetween returns the processor time used in the span that begins at start.
func cpuBetween(ctx context.Context, start time.Time, span time.Duration) (time.Duration, error) {
	if err := sleep(ctx, start); err != nil {
		return 0, err
	}
	before, err := cpu()
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, start.Add(span)); err != nil {
		return 0, err
	}
	after, err := cpu()
	return after - before, err
}
