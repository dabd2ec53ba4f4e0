// Package robfigcron has the code of docs/coming-from/robfig-cron.md.
package robfigcron

import (
	"log"
	"os"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/jobs"
)

// Cleanup is a job of a program that has used robfig/cron.
type Cleanup struct{ Dir string }

// Run implements cron.Job.
func (c Cleanup) Run() {
	if err := os.RemoveAll(c.Dir); err != nil {
		log.Print(err)
	}
}

func report() { log.Print("the nightly report") }

// Before starts the jobs on every replica.
func Before() error {
	c := cron.New()
	if _, err := c.AddJob("*/10 * * * *", Cleanup{Dir: "/tmp/uploads"}); err != nil {
		return err
	}
	if _, err := c.AddFunc("30 2 * * *", report); err != nil {
		return err
	}
	c.Run()
	return nil
}

// After runs each tick on one replica.
func After() {
	registry := jobs.NewRegistry()
	jobs.Register(registry, "cleanup", jobs.FromCron(Cleanup{Dir: "/tmp/uploads"}))
	jobs.Register(registry, "report", jobs.FromCron(cron.FuncJob(report)))
	cmd.Main(registry)
}
