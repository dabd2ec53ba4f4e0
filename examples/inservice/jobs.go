package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/metrics"
	"github.com/quorate/quorate/scheduler/traces"
	"github.com/quorate/quorate/stores/postgres"
)

// namespace is the name of Quorate's schema in the database of the service.
const namespace = "shop_cron"

func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	const tables = "CREATE TABLE IF NOT EXISTS orders (id bigserial PRIMARY KEY, invoiced timestamptz)"
	if _, err := pool.Exec(ctx, tables); err != nil {
		return err
	}
	created, err := postgres.Migrate(ctx, pool, namespace)
	if err != nil || !created {
		return err
	}
	return postgres.Init(ctx, pool, namespace, false) // else no tick runs for the first 20 s
}

func (s *service) newReplica() (*replica.Replica, error) {
	m := new(metrics.Metrics)
	r, err := replica.New(replica.Config{
		Namespace: namespace,
		Store:     &postgres.Store{Pool: s.pool},
		Jobs: []jobs.Job{{
			Name: "invoices", Spec: "0 6 * * *", Timezone: "Europe/Paris",
			Timeout: 10 * time.Minute, Handler: s.invoices,
		}},
		Logger:  s.log,
		Metrics: m,
		Traces:  traces.New(s.tracing),
		Webhooks: []settings.Webhook{{
			URL: "${env:ALERTS_URL}", Events: []string{"failed", "missed"},
		}},
	})
	if err != nil {
		return nil, err
	}
	return r, s.registry.Register(m) // New has filled it
}

func (s *service) invoices(ctx context.Context, run jobs.Run) error {
	ctx, span := s.tracing.Tracer("shop").Start(ctx, "write invoices")
	defer span.End()
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, "UPDATE orders SET invoiced = $1 WHERE invoiced IS NULL", run.Tick)
		if err != nil {
			return err
		}
		run.Logger.Info("invoices written", "orders", done.RowsAffected())
		return sqlfence.Finish(ctx, tx.Exec, run) // the run succeeds if this transaction commits
	})
}
