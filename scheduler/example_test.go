package scheduler_test

import (
	"context"
	"fmt"
	"log"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// One replica with everything in memory, until its job has run once.
func Example() {
	schedule, err := scheduler.ParseSchedule("@every 1s", scheduler.ScheduleOptions{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	report := scheduler.Job{
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
		Locker:  locks,
		Ledger:  schedtest.NewLedger(locks),
		Observer: scheduler.Observer{
			Finished: func(e scheduler.Entry, _ error) { fmt.Println(e.Job, e.Outcome) },
		},
	}, []scheduler.Job{report})
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
