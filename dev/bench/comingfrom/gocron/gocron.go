// Package gocron has the code of docs/coming-from/gocron.md.
package gocron

import (
	"context"
	"log"

	"github.com/go-co-op/gocron/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/stores/postgres"
)

func report(ctx context.Context, customer string) error {
	log.Print("the nightly report for ", customer)
	return ctx.Err()
}

// Before takes a lock for each run.
func Before(ctx context.Context, locker gocron.Locker) error {
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return err
	}
	_, err = s.NewJob(
		gocron.CronJob("30 2 * * *", false),
		gocron.NewTask(report, "acme"),
		gocron.WithName("report"),
		gocron.WithSingletonMode(gocron.LimitModeReschedule),
	)
	if err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	return s.Shutdown()
}

// After claims each tick in the database of the service.
func After(ctx context.Context, pool *pgxpool.Pool) error {
	r, err := replica.New(replica.Config{
		Store: &postgres.Store{Pool: pool},
		Jobs: []jobs.Job{{
			Name: "report", Spec: "30 2 * * *",
			Handler: func(ctx context.Context, _ jobs.Run) error { return report(ctx, "acme") },
		}},
		Source: Customers(pool), // jobs made at run time
	})
	if err != nil {
		return err
	}
	return r.Run(ctx) // drains when ctx ends
}

// Customers yields a job for each customer, who may come, change and go.
func Customers(pool *pgxpool.Pool) scheduler.Source {
	return scheduler.SourceFunc(func(ctx context.Context) ([]jobs.Job, error) {
		rows, err := pool.Query(ctx, "SELECT name, schedule FROM customers")
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (jobs.Job, error) {
			var customer, spec string
			err := row.Scan(&customer, &spec)
			return jobs.Job{
				Name: "report-" + customer, Spec: spec,
				Handler: func(ctx context.Context, _ jobs.Run) error { return report(ctx, customer) },
			}, err
		})
	})
}
