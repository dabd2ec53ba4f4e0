package scheduler_test

import (
	"context"
	"fmt"
	"log"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
)

// One replica with everything in memory, until its job has run once.
func Example() {
	schedule, err := schedule.Parse("@every 1s", schedule.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	report := jobs.Job{
		Name: "report", Schedule: schedule,
		Handler: func(_ context.Context, run jobs.Run) error {
			fmt.Println(run.Job, "runs on", run.Replica, "as attempt", run.Attempt)
			stop()
			return nil
		},
	}
	locks := new(locktest.Memory)
	s, err := scheduler.New(scheduler.Config{
		Replica: "replica-1",
		Stores:  scheduler.Stores{Locker: locks, Ledger: schedtest.NewLedger(locks)},
		Observer: func(e event.Event) {
			if e.Kind == event.Finished {
				fmt.Println(e.Entry.Job, e.Entry.Outcome)
			}
		},
	}, []jobs.Job{report})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Run(ctx); err != nil { // drains when ctx ends
		log.Fatal(err)
	}
	// Output:
	// report runs on replica-1 as attempt 1
	// report succeeded
}
