package rows

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
)

// spreadConns are the connections of each replica, and of each client of River, where many share
// the server.
const spreadConns = 4

// onPostgresTeam measures several replicas on one PostgreSQL.
func onPostgresTeam(ctx context.Context, env Env) (report.Section, error) {
	n := min(env.Size.Workers, 64)
	s := report.Section{Method: fmt.Sprintf("One PostgreSQL that syncs every commit. First %d goroutines, each with a job of its own, spread over %d replicas, "+
		"or as many clients of River, with %d connections each. Then %d jobs due at the same instant on %d replicas, until the last has started. "+
		"River inserts as many unique jobs with one call, and works them on %d clients.", n, idleReplicas, spreadConns, env.Size.Burst, team, team)}
	p, err := env.Rig.Postgres(ctx, n, "on")
	if err != nil {
		return s, err
	}
	rates, err := env.pgSpread(ctx, p, n)
	if err != nil {
		return s, err
	}
	c, err := p.Replicas(ctx, team)
	if err != nil {
		return s, err
	}
	mine, theirs := &tally{jobs: env.Size.Burst}, &tally{jobs: env.Size.Burst}
	plan := env.plan(report.Seconds)
	plan.Cold, plan.Rounds = true, min(plan.Rounds, 3)
	bursts, err := pairs.Run(ctx, plan,
		pairs.Side{Name: sideBurst, Measure: env.inTime(func(ctx context.Context, at time.Time) (float64, error) { return env.burstOurs(ctx, at, c, mine) })},
		pairs.Side{Name: sideRiver, Measure: func(ctx context.Context) (float64, error) { return env.riverBurst(ctx, p, theirs) }})
	if err := errors.Join(err, c.Close()); err != nil {
		return s, err
	}
	s.Results = []report.Result{
		{
			What: fmt.Sprintf("claim and finish on PostgreSQL, %d in parallel on %d replicas", n, idleReplicas), Unit: report.PerSecond, Ours: rates.Median(sideBoth),
			Theirs: rates.Median(sideRiver), Of: sideRiver, Ratio: rates.Ratio(sideBoth, sideRiver), Bound: report.RatioAtLeast(1.2),
		},
		{
			What: fmt.Sprintf("%d jobs due at once on PostgreSQL, %d replicas, until the last starts", env.Size.Burst, team), Unit: report.Seconds, Ours: bursts.Median(sideBurst),
			Theirs: bursts.Median(sideRiver), Of: sideRiver, Ratio: bursts.Ratio(sideBurst, sideRiver), Bound: report.AtMost(5),
			Notes: []string{fmt.Sprintf("%s: %v; %d leases were lost", sideBurst, mine, c.Lost()), sideRiver + ": " + theirs.String()},
		},
	}
	return s, p.Close()
}

// pgSpread measures how often per second each side gets through with many replicas.
func (e Env) pgSpread(ctx context.Context, p *rig.Postgres, n int) (pairs.Samples, error) {
	var ours []*claimer
	for i := range min(idleReplicas, n) {
		c, err := p.Join(ctx, spreadConns)
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.Close() }() // nothing is left to do
		ours = append(ours, newClaimers(c.Claims, fmt.Sprint("spread-", i), (n+idleReplicas-1)/idleReplicas, true)...)
	}
	var failed atomic.Int64
	samples, err := e.pairs(ctx, report.PerSecond,
		pairs.Side{Name: sideBoth, Measure: func(ctx context.Context) (float64, error) {
			perSecond, _, err := rate(ctx, n, e.Size.Span, &failed, func(ctx context.Context, w int) error { return ours[w].run(ctx) })
			return perSecond, err
		}},
		pairs.Side{Name: sideRiver, Measure: func(ctx context.Context) (float64, error) {
			clients, err := e.riverTeam(ctx, p, min(idleReplicas, n), spreadConns, n)
			if err != nil {
				return 0, err
			}
			perSecond, _, err := rate(ctx, n, e.Size.Span, &failed, func(ctx context.Context, w int) error { return clients[w%len(clients)].run(ctx, w) })
			for _, c := range clients {
				err = errors.Join(err, c.stop(ctx))
			}
			return perSecond, err
		}})
	if f := failed.Load(); err == nil && f > 0 {
		err = fmt.Errorf("%d operations have failed", f)
	}
	return samples, err
}

// riverTeam starts clients of River, each with so many connections, that together work the ticks of n
// jobs: any of them may work each.
func (e Env) riverTeam(ctx context.Context, p *rig.Postgres, clients int, conns int32, n int) ([]*riverSide, error) {
	var list []*riverSide
	worker := newRiverWorker(n)
	for range clients {
		pool, err := p.Pool(ctx, nil)
		if err != nil {
			return nil, err
		}
		config := pool.Config()
		pool.Close()
		config.MaxConns = conns
		if pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
			return nil, err
		}
		r, err := startRiver(ctx, pool, worker, max(1, n/clients))
		if err != nil {
			return nil, err
		}
		r.closes = pool.Close
		list = append(list, r)
	}
	return list, nil
}

// riverBurst returns how many seconds after their insertion the last of many jobs has worked.
func (e Env) riverBurst(ctx context.Context, p *rig.Postgres, t *tally) (float64, error) {
	clients, err := e.riverTeam(ctx, p, team, 8, t.jobs)
	if err != nil {
		return 0, err
	}
	var list []river.InsertManyParams
	at := time.Now()
	for i := range t.jobs {
		list = append(list, river.InsertManyParams{Args: riverTick{i, at}, InsertOpts: &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}})
	}
	_, err = clients[0].client.InsertMany(ctx, list)
	for i := 0; err == nil && i < t.jobs; i++ {
		select {
		case <-clients[0].worker.worked[i]:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	took := time.Since(at).Seconds()
	t.add(t.jobs, t.jobs)
	for _, c := range clients {
		err = errors.Join(err, c.stop(ctx))
	}
	return took, err
}
