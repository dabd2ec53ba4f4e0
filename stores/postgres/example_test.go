package postgres_test

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/stores/postgres"
)

// The README shows it.
func runJobs(ctx context.Context, pool *pgxpool.Pool) error {
	r, err := replica.New(replica.Config{
		Store: &postgres.Store{Pool: pool},
		Jobs:  []jobs.Job{{Name: "report", Spec: "0 2 * * *", Handler: report}},
	})
	if err != nil {
		return err
	}
	return r.Run(ctx) // blocks; drains when ctx ends
}

func report(_ context.Context, run jobs.Run) error {
	run.Logger.Info("reporting", "token", run.Token)
	return nil
}

// The pool is that of the service, which makes the tables with it.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Print(err)
		return
	}
	defer pool.Close()
	created, err := postgres.Migrate(ctx, pool, "")
	if err == nil && created {
		err = postgres.Init(ctx, pool, "", false)
	}
	if err == nil {
		err = runJobs(ctx, pool)
	}
	if err != nil {
		log.Print(err)
	}
}
