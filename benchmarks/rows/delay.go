package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/quorate/quorate/benchmarks/pairs"
	"github.com/quorate/quorate/benchmarks/plot"
	"github.com/quorate/quorate/benchmarks/report"
	"github.com/quorate/quorate/benchmarks/rig"
)

// few is how many replicas share the ticks whose delays are measured.
const few = 5

// delay measures how late winners start, and how evenly replicas win.
func delay(ctx context.Context, env Env) (report.Section, error) {
	z := env.Size
	apart := time.Second / time.Duration(z.DelayJobs)
	s := report.Section{Method: fmt.Sprintf("%d replicas, %d ticks one after the other, %v apart. The delay is from the tick's own time to the call of "+
		"the function. The round trip is that of an empty script to all nodes until a quorum has answered, measured between the ticks.",
		few, z.DelayJobs*z.DelaySeconds, apart)}
	b := &book{}
	c, err := env.Rig.Cluster(ctx, few, env.Rig.Addrs())
	if err != nil {
		return s, err
	}
	first, trips, err := env.tickApart(ctx, c, b, apart)
	if err := errors.Join(err, c.Close()); err != nil {
		return s, err
	}
	starts := b.between(first, first.Add(time.Duration(z.DelaySeconds)*time.Second))
	if len(starts) == 0 {
		return s, errors.New("no tick was run")
	}
	late, fair := delays(starts, trips), shares(starts)
	s.Results = []report.Result{late, fair}
	env.Told("p99 %s, round trip %s; most and fewest wins %.0f, %.0f", report.Seconds.Format(late.Ours), report.Seconds.Format(late.Theirs), fair.Ours, fair.Theirs)
	s.Charts = []plot.Chart{{
		File: "delay", Title: "Start behind the tick's own time, 5 replicas", Format: report.Seconds.Format,
		Bars: []plot.Bar{
			{Name: "median", Value: pairs.Percentile(lateness(starts), 50), Ours: true},
			{Name: "99th percentile", Value: late.Ours, Ours: true},
			{Name: "one quorum round trip", Value: late.Theirs},
		},
	}}
	return s, nil
}

// tickApart lets jobs tick one after the other, and returns the first tick that
// counts and the round trips measured meanwhile.
func (e Env) tickApart(ctx context.Context, c *rig.Cluster, b *book, apart time.Duration) (time.Time, []float64, error) {
	if err := c.Serve(ctx, b.idle(e.Size.DelayJobs)); err != nil {
		return time.Time{}, nil, err
	}
	if err := sleep(ctx, time.Now().Add(e.Size.Settling)); err != nil {
		return time.Time{}, nil, err
	}
	if err := c.Serve(ctx, b.everySecond(e.Size.DelayJobs, apart)); err != nil {
		return time.Time{}, nil, err
	}
	trip, err := e.Rig.QuorumTrip(ctx)
	if err != nil {
		return time.Time{}, nil, err
	}
	first := nextSecond(2 * time.Second)
	var trips []float64
	for at := first.Add(apart / 2); at.Before(first.Add(time.Duration(e.Size.DelaySeconds) * time.Second)); at = at.Add(apart) {
		if err := sleep(ctx, at); err != nil {
			return first, trips, err
		}
		took, err := trip()
		if err != nil {
			return first, trips, err
		}
		trips = append(trips, took)
	}
	return first, trips, sleep(ctx, time.Now().Add(time.Second))
}

func lateness(starts []start) []float64 {
	var list []float64
	for _, s := range starts {
		list = append(list, s.late.Seconds())
	}
	return list
}

// delays judges the delays of the starts. The spread is that of five parts.
func delays(starts []start, trips []float64) report.Result {
	slices.SortFunc(starts, func(a, b start) int { return a.tick.Compare(b.tick) })
	late, trip := lateness(starts), pairs.Median(trips)
	r := report.Result{
		What: "winner's delay, 99th percentile", Unit: report.Seconds,
		Ours: pairs.Percentile(late, 99), Theirs: trip, Of: "quorum round trip",
		Ratio: pairs.Ratio{Low: math.Inf(1), High: math.Inf(-1)}, Bound: report.RatioAtMost(10),
		Notes: []string{fmt.Sprintf("median %s, %d ticks", report.Seconds.Format(pairs.Percentile(late, 50)), len(late))},
	}
	r.Ratio.Of = r.Ours / trip
	for part := range slices.Chunk(late, (len(late)+4)/5) {
		ratio := pairs.Percentile(part, 99) / trip
		r.Ratio.Low, r.Ratio.High = min(r.Ratio.Low, ratio), max(r.Ratio.High, ratio)
	}
	return r
}

// shares judges how evenly the replicas won.
func shares(starts []start) report.Result {
	wins := map[string]float64{}
	for i := range few {
		wins[fmt.Sprintf("replica-%02d", i+1)] = 0
	}
	for _, s := range starts {
		wins[s.replica]++
	}
	most, fewest := 0.0, math.Inf(1)
	for _, n := range wins {
		most, fewest = max(most, n), min(fewest, n)
	}
	return report.Result{
		What: fmt.Sprintf("wins per replica, %d replicas, %d ticks", few, len(starts)), Unit: report.Wins,
		Ours: most, Theirs: fewest, Of: "fewest", Ratio: pairs.Ratio{Of: most / fewest}, Bound: report.RatioAtMost(1.5),
	}
}
