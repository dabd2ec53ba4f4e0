package rows

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/dev/bench/pairs"
	"github.com/quorate/quorate/dev/bench/plot"
	"github.com/quorate/quorate/dev/bench/report"
	"github.com/quorate/quorate/dev/bench/rig"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/postgres"
)

// Sides on PostgreSQL.
const (
	sideClaim  = "quorate, claim"
	sideFinish = "quorate, finish"
	sideBoth   = "quorate, claim and finish"
	sideRiver  = "river, insert and work"
	sideInsert = "river, insert"
	sideUpdate = "an UPDATE"
)

// idleReplicas is how many do nothing while their statements are counted.
const idleReplicas = 20

// onPostgres measures what a tick takes on one PostgreSQL.
func onPostgres(ctx context.Context, env Env) (report.Section, error) {
	n := min(env.Size.Workers, 64)
	s := report.Section{Method: fmt.Sprintf("One PostgreSQL that syncs every commit (fsync on), %d goroutines, each with a job of its own. "+
		"Each side has 8 connections. River inserts a unique job for each tick, as its periodic jobs do, and works it; "+
		"it completes jobs in batches, and keeps no lease while they work. The UPDATE adds one to a row of its own. "+
		"Statements are those that %d replicas send while no job is due, and more for each tick. "+
		"Results with fsync off are from a second server, which does not wait for the disk.", n, idleReplicas)}
	p, err := env.Rig.Postgres(ctx, n, "on")
	if err != nil {
		return s, err
	}
	rates, used, err := env.pgRates(ctx, p, n)
	if err != nil {
		return s, err
	}
	times, err := env.pgTimes(ctx, p)
	if err != nil {
		return s, err
	}
	idle, tick, crowd, err := env.pgStatements(ctx, p)
	if err != nil {
		return s, err
	}
	unsynced, err := env.pgUnsynced(ctx, n)
	if err != nil {
		return s, err
	}
	rate := report.Result{
		What: fmt.Sprintf("claim and finish on PostgreSQL, %d in parallel", n), Unit: report.PerSecond, Ours: rates.Median(sideBoth),
		Theirs: rates.Median(sideRiver), Of: sideRiver, Ratio: rates.Ratio(sideBoth, sideRiver), Bound: report.RatioAtLeast(1.2),
		Notes: []string{sideUpdate + ": " + report.PerSecond.Format(rates.Median(sideUpdate))},
	}
	claim := besideUpdate("claim on PostgreSQL, one at a time", times, sideClaim)
	claim.Notes = []string{sideInsert + ": " + report.Seconds.Format(times.Median(sideInsert))}
	claim.Bound = report.RatioAtMost(2.5)
	finish := besideUpdate("finish on PostgreSQL, one at a time", times, sideFinish)
	finish.Bound = report.RatioAtMost(2)
	s.Results = []report.Result{
		rate, claim, besideUpdate("claim on PostgreSQL, one at a time, fsync off", unsynced, sideClaim),
		finish, besideUpdate("finish on PostgreSQL, one at a time, fsync off", unsynced, sideFinish),
		{What: fmt.Sprintf("statements per second of %d idle replicas", idleReplicas), Unit: report.Commands, Ours: idle, Bound: report.AtMost(19.2)},
		{What: fmt.Sprintf("statements per tick, %d replicas", idleReplicas), Unit: report.Commands, Ours: tick, Bound: report.AtMost(22)},
		{What: fmt.Sprintf("statements per tick, %d replicas, %d jobs due at once", idleReplicas, dueAtOnce), Unit: report.Commands, Ours: crowd, Bound: report.AtMost(8)},
		{
			What: fmt.Sprintf("processor time of PostgreSQL per claim and finish, %d in parallel", n), Unit: report.Seconds, Ours: used.Median(sideBoth),
			Theirs: used.Median(sideRiver), Of: sideRiver, Ratio: used.Ratio(sideBoth, sideRiver), Bound: report.RatioAtMost(1),
		},
	}
	s.Charts = []plot.Chart{bars("postgres", "Claims and finishes per second on PostgreSQL", report.PerSecond, rates, sideBoth, sideRiver, sideUpdate)}
	return s, p.Close()
}

// besideUpdate is the time of a side and that of an UPDATE.
func besideUpdate(what string, times pairs.Samples, side string) report.Result {
	return report.Result{
		What: what, Unit: report.Seconds, Ours: times.Median(side), Theirs: times.Median(sideUpdate), Of: sideUpdate, Ratio: times.Ratio(side, sideUpdate),
	}
}

// pgUnsynced is pgTimes on a server that does not wait for the disk.
func (e Env) pgUnsynced(ctx context.Context, counters int) (pairs.Samples, error) {
	p, err := e.Rig.Postgres(ctx, counters, "off")
	if err != nil {
		return nil, err
	}
	times, err := e.pgTimes(ctx, p)
	return times, errors.Join(err, p.Close())
}

// pgRates measures how often per second each side gets through, and how many seconds of the
// server's processors each takes.
func (e Env) pgRates(ctx context.Context, p *rig.Postgres, n int) (rates, used pairs.Samples, err error) {
	pool, err := p.Pool(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	used = pairs.Samples{}
	claimers := newClaimers(p.Cluster.Claims, "rate", n, true)
	var failed atomic.Int64
	side := func(name string, op func(ctx context.Context, worker int) error) pairs.Side {
		return pairs.Side{Name: name, Measure: func(ctx context.Context) (float64, error) {
			before := p.Used()
			perSecond, times, err := rate(ctx, n, e.Size.Span, &failed, op)
			used[name] = append(used[name], (p.Used()-before).Seconds()/float64(max(times, 1)))
			return perSecond, err
		}}
	}
	rates, err = e.pairs(ctx, report.PerSecond,
		side(sideBoth, func(ctx context.Context, w int) error { return claimers[w].run(ctx) }),
		pairs.Side{Name: sideRiver, Measure: func(ctx context.Context) (float64, error) {
			river, err := newRiver(ctx, pool, n) // only while it is measured: it polls
			if err != nil {
				return 0, err
			}
			perSecond, err := side(sideRiver, river.run).Measure(ctx)
			return perSecond, errors.Join(err, river.stop(ctx))
		}},
		side(sideUpdate, func(ctx context.Context, w int) error { return update(ctx, pool, w) }))
	if f := failed.Load(); err == nil && f > 0 {
		err = fmt.Errorf("%d operations have failed", f)
	}
	return rates, used, err
}

func update(ctx context.Context, pool *pgxpool.Pool, row int) error {
	_, err := pool.Exec(ctx, "UPDATE counters SET n = n + 1 WHERE id = $1", row)
	return err
}

// pgTimes measures how long each takes, one at a time.
func (e Env) pgTimes(ctx context.Context, p *rig.Postgres) (pairs.Samples, error) {
	pool, err := p.Pool(ctx, nil)
	if err != nil {
		return nil, err
	}
	river, err := newRiver(ctx, pool, 1)
	if err != nil {
		return nil, err
	}
	if err := river.stop(ctx); err != nil { // it only inserts
		return nil, err
	}
	c := newClaimers(p.Cluster.Claims, "time", 1, true)[0]
	median := func(before, timed, after func(context.Context) error) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			var took []float64
			for range e.Size.Tries {
				err := before(ctx)
				start := time.Now()
				err = errors.Join(err, timed(ctx))
				took = append(took, time.Since(start).Seconds())
				if err := errors.Join(err, after(ctx)); err != nil {
					return 0, err
				}
			}
			return pairs.Median(took), nil
		}
	}
	var lease locking.Lease
	nothing := func(context.Context) error { return nil }
	claim := func(ctx context.Context) (err error) { lease, err = c.claim(ctx); return err }
	finish := func(ctx context.Context) error { return c.finish(ctx, lease) }
	return e.pairs(ctx, report.Seconds,
		pairs.Side{Name: sideClaim, Measure: median(nothing, claim, finish)},
		pairs.Side{Name: sideUpdate, Measure: median(nothing, func(ctx context.Context) error { return update(ctx, pool, 0) }, nothing)},
		pairs.Side{Name: sideFinish, Measure: median(claim, finish, nothing)},
		pairs.Side{Name: sideInsert, Measure: median(nothing, func(ctx context.Context) error { return river.insert(ctx, 0) }, nothing)})
}

// dueAtOnce is how many jobs tick at the same instant while their statements are counted.
const dueAtOnce = 100

// pgStatements counts the statements of idle replicas, per second, and those that a tick adds: of one
// job, and of many that are due at once.
func (e Env) pgStatements(ctx context.Context, p *rig.Postgres) (idle, tick, crowd float64, err error) {
	idle, _, err = e.pgCount(ctx, p, 1, "@yearly")
	if err != nil {
		return 0, 0, 0, err
	}
	busy, ticks, err := e.pgCount(ctx, p, 1, "@every 1s")
	if err != nil {
		return 0, 0, 0, err
	}
	crowded, all, err := e.pgCount(ctx, p, dueAtOnce, "@every 5s")
	return idle, (busy - idle) / ticks, (crowded - idle) / all, err
}

// pgCount counts the statements and the runs per second of replicas with n jobs.
func (e Env) pgCount(ctx context.Context, p *rig.Postgres, n int, schedule string) (statements, runs float64, err error) {
	var sent, ran atomic.Int64
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	errs := make([]error, idleReplicas)
	var list []jobs.Job
	for i := range n {
		list = append(list, jobs.Job{Name: jobName(i), Spec: schedule, Handler: func(context.Context, jobs.Run) error { ran.Add(1); return nil }})
	}
	for i := range idleReplicas {
		pool, err := p.Pool(ctx, &sent)
		if err != nil {
			stop()
			running.Wait()
			return 0, 0, err
		}
		r, err := replica.New(replica.Config{
			Replica: settings.Replica{ID: fmt.Sprint("replica-", i)}, Namespace: rig.Namespace, Store: &postgres.Store{Pool: pool}, Logger: slog.New(slog.DiscardHandler),
			Jobs: list,
		})
		if err != nil {
			stop()
			running.Wait()
			return 0, 0, err
		}
		running.Go(func() { errs[i] = r.Run(ctx) })
	}
	err = sleep(ctx, time.Now().Add(e.Size.Settling))
	beforeSent, beforeRan, begun := sent.Load(), ran.Load(), time.Now()
	err = errors.Join(err, sleep(ctx, begun.Add(4*e.Size.Counting)))
	seconds := time.Since(begun).Seconds()
	statements, runs = float64(sent.Load()-beforeSent)/seconds, float64(ran.Load()-beforeRan)/seconds
	stop()
	running.Wait()
	return statements, runs, errors.Join(append(errs, err)...)
}
