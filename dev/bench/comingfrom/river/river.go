// Package river has the code of docs/coming-from/river.md.
package river

import (
	"context"
	"log"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/stores/postgres"
)

// ReportArgs are the arguments of a report.
type ReportArgs struct {
	Customer string `json:"customer"`
}

// Kind implements river.JobArgs.
func (ReportArgs) Kind() string { return "report" }

// ReportWorker writes reports.
type ReportWorker struct {
	river.WorkerDefaults[ReportArgs]
}

// Work implements river.Worker.
func (*ReportWorker) Work(ctx context.Context, job *river.Job[ReportArgs]) error {
	return report(ctx, job.Args)
}

func report(ctx context.Context, args ReportArgs) error {
	log.Print("the report for ", args.Customer)
	return ctx.Err()
}

// Before inserts a job for each tick, which any client works.
func Before(ctx context.Context, pool *pgxpool.Pool) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &ReportWorker{})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}},
		Workers: workers,
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(
			river.PeriodicInterval(15*time.Minute),
			func() (river.JobArgs, *river.InsertOpts) { return ReportArgs{Customer: "acme"}, nil },
			nil,
		)},
	})
	if err != nil {
		return err
	}
	return client.Start(ctx)
}

// After claims each tick in the same database.
func After(ctx context.Context, url string) error {
	r, err := replica.New(replica.Config{
		Postgres: settings.Postgres{URL: settings.Secret(url)}, Store: new(postgres.Store),
		Jobs: []jobs.Job{{
			Name: "report", Spec: "@every 15m",
			Handler: func(ctx context.Context, _ jobs.Run) error { return report(ctx, ReportArgs{Customer: "acme"}) },
		}},
	})
	if err != nil {
		return err
	}
	return r.Run(ctx) // drains when ctx ends
}
