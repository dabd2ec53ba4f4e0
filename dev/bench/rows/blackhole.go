package rows

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

const (
	sideHealthy      = "quorate, healthy"
	sideHole         = "quorate, black hole"
	sideHealthyPeers = "redsync, healthy"
	sideHolePeers    = "redsync, black hole"
)

// blackhole measures what winning takes while one node swallows everything.
func blackhole(ctx context.Context, env Env) (report.Section, error) {
	s := report.Section{Method: fmt.Sprintf("As before, but the fifth node is reached by a way that swallows everything, "+
		"from the first claim on; the median of %d claims. Redsync locks once: each lock takes its timeout.", env.Size.Tries)}
	if err := env.fresh(ctx); err != nil {
		return s, err
	}
	link := env.Rig.Links(0, 0)[rig.Nodes-1]
	addrs := append(env.Rig.Addrs()[:rig.Nodes-1], link.Addr())
	ours, err := rig.Open(ctx, addrs)
	if err != nil {
		return s, err
	}
	peer := rig.NewRedsync(addrs)
	worst := 0.0
	side := func(name string, hole bool, n int, win winner) pairs.Side {
		return pairs.Side{Name: name, Measure: func(ctx context.Context) (float64, error) {
			link.BlackHole(hole)
			defer link.BlackHole(false)
			took, err := win.times(ctx, n)
			if name == sideHole {
				worst = max(worst, pairs.Percentile(took, 100))
			}
			return pairs.Median(took), err
		}}
	}
	claim, lock := claimsOf(newClaimers(ours.Locker, "hole", 1, true)[0]), locksOf(peer, "redsync")
	samples, err := env.pairs(ctx, report.Seconds,
		side(sideHole, true, env.Size.Tries, claim),
		side(sideHealthy, false, env.Size.Tries, claim),
		side(sideHealthyPeers, false, env.Size.Tries, lock))
	if err == nil && env.Size.Slow {
		var took float64
		took, err = side(sideHolePeers, true, 1, lock).Measure(ctx)
		samples[sideHolePeers] = []float64{took}
		env.Told("once       %-34s %s", sideHolePeers, report.Seconds.Format(took))
	}
	if err := errors.Join(err, ours.Close(), peer.Close()); err != nil {
		return s, err
	}
	s.Results = []report.Result{{
		What: "claim, one node black-holed", Unit: report.Seconds,
		Ours: samples.Median(sideHole), Theirs: samples.Median(sideHealthy), Of: "healthy",
		Ratio: samples.Ratio(sideHole, sideHealthy), Bound: report.RatioAtMost(1.2),
		Headline: "with one node black-holed, winning takes {times} times as long as healthy; a redsync lock takes 5 s",
		Notes: []string{
			"the slowest claim, which finds the node out, took " + report.Seconds.Format(worst),
			fmt.Sprintf("redsync in the same hole: %s instead of %s, for every lock",
				report.Seconds.Format(samples.Median(sideHolePeers)), report.Seconds.Format(samples.Median(sideHealthyPeers))),
		},
	}}
	s.Charts = []plot.Chart{bars("blackhole", "Time to win, one node black-holed, median", report.Seconds, samples,
		sideHole, sideHealthy, sideHolePeers, sideHealthyPeers)}
	return s, nil
}
