package rows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

// few is how many replicas share the ticks whose delays are measured.
const few = 5

const (
	sideStarts = "quorate"
	sideByHand = "robfig/cron with redsync by hand"
	sideTrip   = "quorum round trip"
)

// delay measures how late winners start, and how evenly replicas win.
func delay(ctx context.Context, env Env) (report.Section, error) {
	z := env.Size
	apart := time.Second / time.Duration(z.DelayJobs)
	s := report.Section{Method: fmt.Sprintf("%d replicas, %d ticks one after the other, %v apart. The delay is from the tick's own time to the call of "+
		"the function. The round trip is the median of an empty script to all nodes until a quorum has answered, measured between the ticks. "+
		"By hand, in turn with that: robfig/cron on as many replicas. Each calls TryLock of redsync for the same ticks. If it starts one twice, both count.",
		few, z.DelayJobs*z.DelaySeconds, apart)}
	d := delays{env: env, book: &book{}, apart: apart, trips: pairs.Samples{}}
	var err error
	if d.cluster, err = env.Rig.Cluster(ctx, few, env.Rig.Addrs()); err != nil {
		return s, err
	}
	samples, err := d.measure(ctx)
	if err := errors.Join(err, d.cluster.Close()); err != nil {
		return s, err
	}
	samples[sideTrip] = warm(d.trips)[sideTrip]
	late := report.Result{
		What: "start behind the tick's time, 99th percentile", Unit: report.Seconds,
		Ours: samples.Median(sideStarts), Theirs: samples.Median(sideTrip), Of: sideTrip,
		Ratio: samples.Ratio(sideStarts, sideTrip), Bound: report.RatioAtMost(5),
		Notes: []string{fmt.Sprintf("median %s, %d ticks", report.Seconds.Format(pairs.Percentile(lateness(d.starts), 50)), len(d.starts))},
	}
	hand := late
	hand.Theirs, hand.Of, hand.Ratio, hand.Notes = samples.Median(sideByHand), sideByHand, samples.Ratio(sideStarts, sideByHand), nil
	// A busy core delays a round trip and a goroutine's turn by different shares.
	if late.Bound, hand.Bound = report.RatioAtMost(5), (report.Bound{}); env.Busy {
		late.Bound, hand.Bound = report.Bound{}, report.RatioAtMost(1.2)
	}
	s.Results = []report.Result{late, hand, shares(d.starts)}
	s.Charts = []plot.Chart{bars("delay", "Start behind the tick's own time, 5 replicas, 99th percentile", report.Seconds, samples,
		sideStarts, sideByHand, sideTrip)}
	return s, nil
}

// delays are measured of jobs that tick one after the other.
type delays struct {
	env     Env
	cluster *rig.Cluster
	book    *book
	apart   time.Duration
	starts  []start       // of the ticks that count
	trips   pairs.Samples // medians of the round trips
}

// measure returns the 99th percentiles.
func (d *delays) measure(ctx context.Context) (pairs.Samples, error) {
	if err := d.cluster.Serve(ctx, d.book.idle(d.env.Size.DelayJobs)); err != nil {
		return nil, err
	}
	if err := sleep(ctx, time.Now().Add(d.env.Size.Settling)); err != nil {
		return nil, err
	}
	trip, err := d.env.Rig.QuorumTrip(ctx)
	if err != nil {
		return nil, err
	}
	return d.env.pairs(ctx, report.Seconds,
		pairs.Side{Name: sideStarts, Measure: func(ctx context.Context) (float64, error) { return d.ours(ctx, trip) }},
		pairs.Side{Name: sideByHand, Measure: func(ctx context.Context) (float64, error) {
			starts, err := d.env.byHand(ctx, d.env.Rig.Addrs(), d.env.Size.DelayJobs, d.env.Size.DelaySeconds, d.apart)
			return pairs.Percentile(lateness(starts), 99), err
		}})
}

// ours lets the jobs of the cluster tick for some seconds, and makes round trips
// between the ticks.
func (d *delays) ours(ctx context.Context, trip func() (float64, error)) (float64, error) {
	n := d.env.Size.DelayJobs
	if err := d.cluster.Serve(ctx, d.book.everySecond(n, d.apart)); err != nil {
		return 0, err
	}
	first := nextSecond(2 * time.Second)
	before := first.Add(time.Duration(d.env.Size.DelaySeconds) * time.Second)
	var trips []float64
	for at := first.Add(d.apart / 2); at.Before(before); at = at.Add(d.apart) {
		if err := sleep(ctx, at); err != nil {
			return 0, err
		}
		took, err := trip()
		if err != nil {
			return 0, err
		}
		trips = append(trips, took)
	}
	if err := sleep(ctx, time.Now().Add(time.Second)); err != nil {
		return 0, err
	}
	starts := d.book.between(first, before)
	if len(starts) == 0 {
		return 0, errors.New("no tick was run")
	}
	d.starts, d.trips[sideTrip] = append(d.starts, starts...), append(d.trips[sideTrip], pairs.Median(trips))
	return pairs.Percentile(lateness(starts), 99), d.cluster.Serve(ctx, d.book.idle(n))
}

func lateness(starts []start) []float64 {
	var list []float64
	for _, s := range starts {
		list = append(list, s.late.Seconds())
	}
	return list
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
