package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/schedule"
)

const (
	sideLocal  = "quorate"
	sideRobfig = "robfig/cron"
)

// idle measures the memory that a job takes while nothing of it is due.
func idle(ctx context.Context, env Env) (report.Section, error) {
	n := env.Size.IdleJobs
	s := report.Section{Method: fmt.Sprintf("Heap and stacks in use with %d jobs on one replica, less those before, after "+
		"garbage collection. Each job has a name and a parsed cron schedule of its own.", n)}
	plan := env.plan(report.Bytes)
	plan.Cold, plan.Rounds = true, min(plan.Rounds, 3) // it hardly varies
	samples, err := pairs.Run(ctx, plan,
		pairs.Side{Name: sideLocal, Measure: func(ctx context.Context) (float64, error) { return idleOurs(ctx, n) }},
		pairs.Side{Name: sideRobfig, Measure: func(context.Context) (float64, error) { return idleRobfig(n) }})
	if err != nil {
		return s, err
	}
	s.Results = []report.Result{{
		What: "memory per idle job", Unit: report.Bytes,
		Ours: samples.Median(sideLocal), Theirs: samples.Median(sideRobfig), Of: sideRobfig,
		Ratio: samples.Ratio(sideLocal, sideRobfig), Bound: report.AtMost(1024),
	}}
	s.Charts = []plot.Chart{bars("idle", "Memory per idle job", report.Bytes, samples, sideLocal, sideRobfig)}
	return s, nil
}

// yearly is a spec whose next tick is far away.
func yearly(i int) string {
	month := time.Now().AddDate(0, 6, 0).Month()
	return fmt.Sprintf("%d %d %d %d *", i%60, i/60%24, i%28+1, month)
}

func idleOurs(ctx context.Context, n int) (float64, error) {
	before := memory()
	// The list itself is gone when the memory is looked at again.
	stop, err := idleScheduler(ctx, n)
	if err != nil {
		return 0, err
	}
	if err := sleep(ctx, time.Now().Add(200*time.Millisecond)); err != nil {
		return 0, errors.Join(err, stop())
	}
	after := memory()
	return (after - before) / float64(n), stop()
}

// idleScheduler starts a scheduler with n jobs that are not due.
func idleScheduler(ctx context.Context, n int) (stop func() error, err error) {
	list := make([]jobs.Job, n)
	for i := range list {
		spec := yearly(i)
		schedule, err := schedule.Parse(spec, schedule.Options{})
		if err != nil {
			return nil, err
		}
		list[i] = jobs.Job{
			Name: fmt.Sprintf("tenant-%06d.report", i), Schedule: schedule, Spec: spec,
			Handler: func(context.Context, jobs.Run) error { return nil },
		}
	}
	return local(ctx, list)
}

func idleRobfig(n int) (float64, error) {
	before := memory()
	c := cron.New()
	for i := range n {
		if _, err := c.AddFunc(yearly(i), func() {}); err != nil {
			return 0, err
		}
	}
	c.Start()
	after := memory()
	<-c.Stop().Done()
	return (after - before) / float64(n), nil
}
