// Package gocron has the code of docs/coming-from/gocron.md.
package gocron

import (
	"context"
	"log"

	"github.com/go-co-op/gocron/v2"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
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

// After claims each tick.
func After(ctx context.Context, nodes []string) error {
	r, err := replica.New(replica.Config{
		Redis: settings.Redis{Nodes: settings.Nodes(nodes...)},
		Jobs: []jobs.Job{{
			Name: "report", Spec: "30 2 * * *",
			Handler: func(ctx context.Context, _ jobs.Run) error { return report(ctx, "acme") },
		}},
	})
	if err != nil {
		return err
	}
	return r.Run(ctx) // drains when ctx ends
}
