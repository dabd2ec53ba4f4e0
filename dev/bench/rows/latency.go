package rows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
	"github.com/quorate/quorate/locking"
)

// distance is what a reply takes longer where the nodes are far away.
const distance = time.Millisecond

// latency measures how long winning takes, one at a time.
func latency(ctx context.Context, env Env) (report.Section, error) {
	s := report.Section{Method: fmt.Sprintf("One goroutine wins and gives back %d times; the median of the winning counts. "+
		"The replica with rank 0 claims in one round. A replica that competes, or was refused, takes two rounds. "+
		"The plain lock is `locking.Acquire` without a tick. All are compared with a redsync lock with `WithFailFast`, "+
		"which returns as soon as a quorum has answered. Far away, each reply is late by %v.", env.Size.Tries, distance)}
	near, err := env.wins(ctx, env.Rig.Addrs(), sideOurs, sideFailFast, sideTwoRounds, sidePlain, sideRedsync, sideRedislock)
	if err != nil {
		return s, err
	}
	far, err := env.wins(ctx, rig.Addrs(env.Rig.Links(distance, 0)), sideOurs, sideFailFast)
	if err != nil {
		return s, err
	}
	direct := won(near, "winning a tick, first in rank", sideOurs, 1.5)
	both := won(near, "winning a tick in two rounds", sideTwoRounds, 3)
	direct.Headline = "winning a tick takes the replica with rank 0 {ours}, {times} times as long as a redsync lock ({theirs}); a replica that competes, " +
		report.Seconds.Format(both.Ours)
	for _, name := range []string{sideRedsync, sideRedislock} {
		direct.Notes = append(direct.Notes, name+": "+report.Seconds.Format(near.Median(name)))
	}
	s.Results = []report.Result{
		direct, won(far, fmt.Sprintf("the same, %v to each node", distance), sideOurs, 1.2),
		both, won(near, "winning a plain lock", sidePlain, 1.5),
	}
	s.Charts = []plot.Chart{bars("latency", "Time to win, one at a time, median", report.Seconds, near,
		sideOurs, sideTwoRounds, sidePlain, sideFailFast, sideRedsync, sideRedislock)}
	return s, nil
}

// wins measures how long it takes to win by way of the addresses, on some sides.
func (e Env) wins(ctx context.Context, addrs []string, names ...string) (pairs.Samples, error) {
	if err := e.fresh(ctx); err != nil {
		return nil, err
	}
	ours, err := rig.Open(ctx, addrs)
	if err != nil {
		return nil, err
	}
	peer, one := rig.NewRedsync(addrs), rig.NewRedislock(addrs[0])
	all := map[string]winner{
		sideOurs:      claimsOf(newClaimers(ours.Locker, "direct", 1, true)[0]),
		sideTwoRounds: claimsOf(newClaimers(ours.Locker, "both", 1, false)[0]),
		sidePlain:     plainOf(ours),
		sideRedsync:   locksOf(peer, "redsync"),
		sideFailFast:  locksOf(peer, "fail-fast", redsync.WithFailFast(true)),
		sideRedislock: obtainsOf(one),
	}
	var sides []pairs.Side
	for _, name := range names {
		sides = append(sides, pairs.Side{Name: name, Measure: func(ctx context.Context) (float64, error) {
			took, err := all[name].times(ctx, e.Size.Tries)
			return pairs.Median(took), err
		}})
	}
	samples, err := e.pairs(ctx, report.Seconds, sides...)
	return samples, errors.Join(err, ours.Close(), peer.Close(), one.Close())
}

// won judges how long winning takes on a side of ours.
func won(samples pairs.Samples, what, side string, bound float64) report.Result {
	return report.Result{
		What: what, Unit: report.Seconds,
		Ours: samples.Median(side), Theirs: samples.Median(sideFailFast), Of: "redsync Lock with fail-fast",
		Ratio: samples.Ratio(side, sideFailFast), Bound: report.RatioAtMost(bound),
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

// plainOf wins a plain lock as programs do.
func plainOf(ours *rig.Ours) winner {
	return func(ctx context.Context) (func() error, error) {
		lease, err := locking.Acquire(ctx, ours.Locker, locking.Request{Name: "plain"}, locking.Retry{})
		if err != nil {
			return nil, err
		}
		return func() error { return lease.Release(ctx, nil) }, nil
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
