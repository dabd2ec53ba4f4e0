package rows

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

const sideCopies = "quorate, two copies"

// onSingle measures claims on one Redis, without copies and with those of two replicas.
func onSingle(ctx context.Context, env Env) (s report.Section, err error) {
	s = report.Section{Method: fmt.Sprintf("One Redis without replicas, and one with two that must have each claim (`copies: 2`). "+
		"redislock is on the first, alone. One goroutine wins %d times, the median counts; then %d goroutines claim and finish for %v.",
		env.Size.Tries, env.Size.Workers, env.Size.Span)}
	alone, addr, err := env.Rig.Single(ctx, 0)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, alone.Close()) }()
	copied, _, err := env.Rig.Single(ctx, 2)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	one := rig.NewRedislock(addr)
	defer func() { err = errors.Join(err, one.Close()) }()
	times, err := env.singleTimes(ctx, alone, copied, one)
	if err != nil {
		return s, err
	}
	rates, err := env.singleRates(ctx, alone, copied, one)
	if err != nil {
		return s, err
	}
	result := func(what string, unit report.Unit, samples pairs.Samples) report.Result {
		return report.Result{
			What: what, Unit: unit, Ours: samples.Median(sideOurs), Theirs: samples.Median(sideRedislock), Of: sideRedislock,
			Ratio: samples.Ratio(sideOurs, sideRedislock), Notes: []string{sideCopies + ": " + unit.Format(samples.Median(sideCopies))},
		}
	}
	s.Results = []report.Result{
		result("winning a tick on one Redis", report.Seconds, times),
		result(fmt.Sprintf("claim and finish on one Redis, %d in parallel", env.Size.Workers), report.PerSecond, rates),
	}
	return s, nil
}

func (e Env) singleTimes(ctx context.Context, alone, copied *rig.Ours, one *rig.Redislock) (pairs.Samples, error) {
	side := func(name string, w winner) pairs.Side {
		return pairs.Side{Name: name, Measure: func(ctx context.Context) (float64, error) {
			took, err := w.times(ctx, e.Size.Tries)
			return pairs.Median(took), err
		}}
	}
	return e.pairs(ctx, report.Seconds,
		side(sideOurs, claimsOf(newClaimers(alone.Locker, "one", 1, true)[0])),
		side(sideRedislock, obtainsOf(one)),
		side(sideCopies, claimsOf(newClaimers(copied.Locker, "one", 1, true)[0])))
}

func (e Env) singleRates(ctx context.Context, alone, copied *rig.Ours, one *rig.Redislock) (pairs.Samples, error) {
	n, failed := e.Size.Workers, new(atomic.Int64)
	side := func(name string, op func(ctx context.Context, worker int) error) pairs.Side {
		return pairs.Side{Name: name, Measure: func(ctx context.Context) (float64, error) {
			perSecond, _, err := rate(ctx, n, e.Size.Span, failed, op)
			return perSecond, err
		}}
	}
	first, second := newClaimers(alone.Locker, "many", n, true), newClaimers(copied.Locker, "many", n, true)
	samples, err := e.pairs(ctx, report.PerSecond,
		side(sideOurs, func(ctx context.Context, w int) error { return first[w].run(ctx) }),
		side(sideRedislock, func(ctx context.Context, w int) error {
			lock, err := one.Obtain(ctx, "redislock-"+lockName(w), 8*time.Second, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}),
		side(sideCopies, func(ctx context.Context, w int) error { return second[w].run(ctx) }))
	if f := failed.Load(); err == nil && f > 0 {
		err = fmt.Errorf("%d operations have failed", f)
	}
	return samples, err
}
