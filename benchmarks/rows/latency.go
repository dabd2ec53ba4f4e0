package rows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/quorate/quorate/benchmarks/pairs"
	"github.com/quorate/quorate/benchmarks/plot"
	"github.com/quorate/quorate/benchmarks/report"
	"github.com/quorate/quorate/benchmarks/rig"
)

// latency measures how long winning takes, one at a time.
func latency(ctx context.Context, env Env) (report.Section, error) {
	s := report.Section{Method: fmt.Sprintf("One goroutine wins and gives back %d times; the median of the winning counts. "+
		"One round is the usual case: the first in rank for a tick tries first, and so. There are two rounds where another replica takes its place, "+
		"because it is gone or late, and where a try was refused: every further one has two. The bound was set for both rounds, "+
		"and either way of winning is judged by it.", env.Size.Tries)}
	if err := env.fresh(ctx); err != nil {
		return s, err
	}
	ours, err := rig.Open(ctx, env.Rig.Addrs())
	if err != nil {
		return s, err
	}
	peer, one := rig.NewRedsync(env.Rig.Addrs()), rig.NewRedislock(env.Rig.Addrs()[0])
	side := func(name string, win winner) pairs.Side {
		return pairs.Side{Name: name, Measure: func(ctx context.Context) (float64, error) {
			took, err := win.times(ctx, env.Size.Tries)
			return pairs.Median(took), err
		}}
	}
	samples, err := env.pairs(ctx, report.Seconds,
		side(sideTwoRounds, claimsOf(newClaimers(ours, "both", 1, false)[0])),
		side(sideRedsync, locksOf(peer, "redsync")),
		side(sideOurs, claimsOf(newClaimers(ours, "direct", 1, true)[0])),
		side(sideFailFast, locksOf(peer, "fail-fast", redsync.WithFailFast(true))),
		side(sideRedislock, obtainsOf(one)))
	if err := errors.Join(err, ours.Close(), peer.Close(), one.Close()); err != nil {
		return s, err
	}
	direct, both := won(samples, "winning a tick, the usual way: one round", sideOurs), won(samples, "winning a tick, both rounds", sideTwoRounds)
	direct.Headline = "winning a tick the usual way, in one round, takes {ours}, {times} times as long as a plain redsync lock ({theirs}); " +
		"in two rounds, where the first in rank was gone or refused, " + report.Seconds.Format(both.Ours)
	for _, name := range []string{sideFailFast, sideRedislock} {
		direct.Notes = append(direct.Notes, name+": "+report.Seconds.Format(samples.Median(name)))
	}
	s.Results = []report.Result{direct, both}
	s.Charts = []plot.Chart{bars("latency", "Time to win, one at a time, median", report.Seconds, samples,
		sideOurs, sideTwoRounds, sideRedsync, sideFailFast, sideRedislock)}
	return s, nil
}

// won judges how long winning takes, one way of ours or the other.
func won(samples pairs.Samples, what, side string) report.Result {
	return report.Result{
		What: what, Unit: report.Seconds,
		Ours: samples.Median(side), Theirs: samples.Median(sideRedsync), Of: "redsync Lock",
		Ratio: samples.Ratio(side, sideRedsync), Bound: report.RatioAtMost(1.6),
	}
}

func isOurs(side string) bool { return strings.HasPrefix(side, "quorate") }

// A winner wins once, and returns what gives back what was won.
type winner func(ctx context.Context) (release func() error, err error)

// times returns how long each of n wins took, in seconds.
func (w winner) times(ctx context.Context, n int) ([]float64, error) {
	var list []float64
	for range n {
		start := time.Now()
		release, err := w(ctx)
		took := time.Since(start)
		if err != nil {
			return nil, err
		}
		list = append(list, took.Seconds())
		if err := release(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func claimsOf(c *claimer) winner {
	return func(ctx context.Context) (func() error, error) {
		lease, err := c.claim(ctx)
		if err != nil {
			return nil, err
		}
		return func() error { return c.finish(ctx, lease) }, nil
	}
}

func locksOf(peer *rig.Redsync, name string, options ...redsync.Option) winner {
	return func(ctx context.Context) (func() error, error) {
		m := peer.NewMutex(name, options...)
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return func() error {
			_, err := m.UnlockContext(ctx)
			return err
		}, nil
	}
}

func obtainsOf(one *rig.Redislock) winner {
	return func(ctx context.Context) (func() error, error) {
		lock, err := one.Obtain(ctx, "redislock", 8*time.Second, nil)
		if err != nil {
			return nil, err
		}
		return func() error { return lock.Release(ctx) }, nil
	}
}
