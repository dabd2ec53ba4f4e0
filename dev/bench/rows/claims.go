package rows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

// Sides of more than one measurement.
const (
	sideOurs      = "quorate, one round"
	sideTwoRounds = "quorate, two rounds"
	sidePlain     = "quorate, plain lock"
	sideRedsync   = "redsync"
	sideFailFast  = "redsync, WithFailFast"
	sideRedislock = "redislock, one node"
)

// claims measures how many ticks a replica claims and finishes per second, many
// at once, and what each takes of the processors.
func claims(ctx context.Context, env Env) (report.Section, error) {
	s := report.Section{Method: fmt.Sprintf("%d goroutines, each with a name of its own, claim and finish for %v; "+
		"ours with what a scheduler keeps of a run: dedupe, fencing token and two ledger records. "+
		"The others lock and unlock. Processor time is that of all servers together, by `INFO cpu`, and of this process.",
		env.Size.Workers, env.Size.Span)}
	if err := env.fresh(ctx); err != nil {
		return s, err
	}
	ours, err := rig.Open(ctx, env.Rig.Addrs())
	if err != nil {
		return s, err
	}
	peer, one := rig.NewRedsync(env.Rig.Addrs()), rig.NewRedislock(env.Rig.Addrs()[0])
	n, failed := env.Size.Workers, map[string]*atomic.Int64{}
	servers, client := pairs.Samples{}, pairs.Samples{}
	side := func(name string, op func(ctx context.Context, worker int) error) pairs.Side {
		failed[name] = new(atomic.Int64)
		return pairs.Side{Name: name, Measure: func(ctx context.Context) (float64, error) {
			before, err := env.used(ctx)
			if err != nil {
				return 0, err
			}
			perSecond, done, err := rate(ctx, n, env.Size.Span, failed[name], op)
			after, err2 := env.used(ctx)
			servers[name] = append(servers[name], (after.servers-before.servers).Seconds()/float64(done))
			client[name] = append(client[name], (after.client-before.client).Seconds()/float64(done))
			return perSecond, errors.Join(err, err2)
		}}
	}
	direct, both := newClaimers(ours.Locker, "direct", n, true), newClaimers(ours.Locker, "both", n, false)
	samples, err := env.pairs(ctx, report.PerSecond,
		side(sideOurs, func(ctx context.Context, w int) error { return direct[w].run(ctx) }),
		side(sideRedsync, func(ctx context.Context, w int) error { return lockUnlock(ctx, peer, lockName(w)) }),
		side(sideTwoRounds, func(ctx context.Context, w int) error { return both[w].run(ctx) }),
		side(sideFailFast, func(ctx context.Context, w int) error {
			return lockUnlock(ctx, peer, "fail-fast-"+lockName(w), redsync.WithFailFast(true))
		}),
		side(sideRedislock, func(ctx context.Context, w int) error {
			lock, err := one.Obtain(ctx, "redislock-"+lockName(w), 8*time.Second, nil)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		}))
	if err := errors.Join(err, ours.Close(), peer.Close(), one.Close()); err != nil {
		return s, err
	}
	result := beside(samples, fmt.Sprintf("claim and finish, %d in parallel", n), report.PerSecond, report.RatioAtLeast(1.7))
	result.Headline = "{ours} claims and finishes (lock, dedupe, token, ledger), {times} times the plain locks and unlocks of redsync ({theirs}) on the same five nodes"
	for _, name := range []string{sideTwoRounds, sideFailFast, sideRedislock} {
		result.Notes = append(result.Notes, name+": "+report.PerSecond.Format(samples.Median(name)))
	}
	for name, count := range failed {
		if n := count.Load(); n > 0 {
			result.Notes = append(result.Notes, fmt.Sprintf("%s: %d failed, and do not count", name, n))
		}
	}
	s.Results = []report.Result{
		result,
		beside(warm(servers), "processor time of all servers for one of these", report.Seconds, report.RatioAtMost(1.1)),
		beside(warm(client), "processor time of the client for one of these", report.Seconds, report.RatioAtMost(0.3)),
	}
	s.Charts = []plot.Chart{bars("claims", "Claims and finishes per second, "+fmt.Sprint(n)+" in parallel", report.PerSecond, samples,
		sideOurs, sideTwoRounds, sideRedsync, sideFailFast, sideRedislock)}
	return s, nil
}

// beside compares a claim in one round with redsync.
func beside(samples pairs.Samples, what string, unit report.Unit, bound report.Bound) report.Result {
	return report.Result{
		What: what, Unit: unit, Ours: samples.Median(sideOurs), Theirs: samples.Median(sideRedsync), Of: "redsync Lock, Unlock",
		Ratio: samples.Ratio(sideOurs, sideRedsync), Bound: bound,
	}
}

// warm leaves out what was measured in the warm-up.
func warm(samples pairs.Samples) pairs.Samples {
	for name, list := range samples {
		samples[name] = list[1:]
	}
	return samples
}

func lockName(worker int) string { return fmt.Sprintf("lock-%03d", worker) }

// lockUnlock uses redsync as its README does.
func lockUnlock(ctx context.Context, peer *rig.Redsync, name string, options ...redsync.Option) error {
	m := peer.NewMutex(name, options...)
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	_, err := m.UnlockContext(ctx)
	return err
}

// rate calls op from n goroutines for the given time, and returns how often it
// succeeded: per second, and all together.
func rate(ctx context.Context, n int, span time.Duration, failed *atomic.Int64, op func(ctx context.Context, worker int) error) (perSecond float64, times int64, err error) {
	var done atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex
	var last error
	start := time.Now()
	for w := range n {
		wg.Go(func() {
			for time.Since(start) < span && ctx.Err() == nil {
				if err := op(ctx, w); err != nil {
					failed.Add(1)
					mu.Lock()
					last = err
					mu.Unlock()
					continue
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if done.Load() == 0 {
		return 0, 0, fmt.Errorf("nothing succeeded: %w", errors.Join(last, ctx.Err()))
	}
	return float64(done.Load()) / took.Seconds(), done.Load(), nil
}

// bars draws the medians of the sides.
func bars(file, title string, unit report.Unit, samples pairs.Samples, sides ...string) plot.Chart {
	c := plot.Chart{File: file, Title: title, Format: unit.Format}
	for _, name := range sides {
		c.Bars = append(c.Bars, plot.Bar{Name: name, Value: samples.Median(name), Ours: isOurs(name)})
	}
	return c
}
