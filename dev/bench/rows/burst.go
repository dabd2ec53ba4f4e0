package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
	"github.com/quorate/quorate/jobs"
)

const (
	// team is how many replicas share the jobs that are due at once.
	team       = 3
	sideBurst  = "quorate"
	sideGocron = "gocron, redsync locker"
	// quiet is how long nothing starts any more when all is over.
	quiet = 5 * time.Second
	// patience bounds one burst.
	patience = 60 * time.Second
)

// burst measures how long it takes until the last of many jobs has started
// that are due at one instant.
func burst(ctx context.Context, env Env) (report.Section, error) {
	n := env.Size.Burst
	s := report.Section{Method: fmt.Sprintf("%d jobs due at the same instant on %d replicas, until the last one that starts has started for the first time. "+
		"Gocron v2 has the same jobs at the same instant, and a locker over redsync and the same nodes. It has WithTries(1), as the README of its Redis locker advises, and works on at most %d jobs at once.", n, team, atOnce)}
	c, err := env.Rig.Cluster(ctx, team, env.Rig.Addrs())
	if err != nil {
		return s, err
	}
	mine, theirs := &tally{jobs: n}, &tally{jobs: n}
	plan := env.plan(report.Seconds)
	plan.Cold = true
	samples, err := pairs.Run(ctx, plan,
		pairs.Side{Name: sideBurst, Measure: env.inTime(func(ctx context.Context, at time.Time) (float64, error) {
			return env.burstOurs(ctx, at, c, mine)
		})},
		pairs.Side{Name: sideGocron, Measure: env.inTime(func(ctx context.Context, at time.Time) (float64, error) {
			return env.burstGocron(ctx, at, theirs)
		})})
	if err := errors.Join(err, c.Close()); err != nil {
		return s, err
	}
	s.Results = []report.Result{{
		What: fmt.Sprintf("%d jobs due at once, 3 replicas, until the last starts", n), Unit: report.Seconds,
		Ours: samples.Median(sideBurst), Theirs: samples.Median(sideGocron), Of: sideGocron,
		Ratio: samples.Ratio(sideBurst, sideGocron), Bound: report.RatioAtMost(0.29),
		Headline: "10,000 jobs due in the same second on 3 replicas have all started after {ours}; with gocron and redsync, {theirs}",
		Notes:    []string{sideBurst + ": " + mine.String(), sideGocron + ": " + theirs.String()},
	}}
	s.Charts = []plot.Chart{bars("burst", fmt.Sprintf("%d jobs due at once on 3 replicas, until the last has started", n), report.Seconds, samples, sideBurst, sideGocron)}
	return s, nil
}

// errTooLate: the instant had passed before all jobs were known.
var errTooLate = errors.New("the jobs were not known in time")

// inTime calls f with an instant that lies far enough ahead.
func (e Env) inTime(f func(ctx context.Context, at time.Time) (float64, error)) func(context.Context) (float64, error) {
	return func(ctx context.Context) (took float64, err error) {
		for ahead := e.Size.Ahead; ahead <= 8*e.Size.Ahead; ahead *= 2 {
			if took, err = f(ctx, nextSecond(ahead)); !errors.Is(err, errTooLate) {
				break
			}
		}
		return took, err
	}
}

func (e Env) burstOurs(ctx context.Context, at time.Time, c *rig.Cluster, t *tally) (float64, error) {
	f := newFirsts(at)
	list := make([]jobs.Job, e.Size.Burst)
	for i := range list {
		name := burstName(i)
		list[i] = jobs.Job{Name: name, Schedule: once(at), Spec: at.String(), Handler: f.handler(name)}
	}
	if err := c.Serve(ctx, list); err != nil {
		return 0, err
	}
	if time.Now().After(at) {
		return 0, errTooLate
	}
	return f.wait(ctx, e, t)
}

// once is a schedule with one tick.
type once time.Time

// Next implements scheduler.Schedule.
func (o once) Next(after time.Time) time.Time {
	if at := time.Time(o); at.After(after) {
		return at
	}
	return time.Time{}
}

func burstName(i int) string { return fmt.Sprintf("job-%05d", i) }
