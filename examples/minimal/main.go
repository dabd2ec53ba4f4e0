// Minimal is a program with one job, and nothing else: no configuration file, no
// dashboard, no metrics. It links only what it uses.
//
//	go run ./examples/minimal redis://10.0.0.1:6379 redis://10.0.0.2:6379 redis://10.0.0.3:6379
//
// However many copies of it run, each minute is reported by one of them.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/replica/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := newReplica(replica.Config{Redis: settings.Redis{Nodes: settings.Nodes(os.Args[1:]...)}})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Run(ctx); err != nil { // blocks; drains when ctx ends
		log.Fatal(err)
	}
}

func newReplica(cfg replica.Config) (*replica.Replica, error) {
	cfg.Jobs = []jobs.Job{{Name: "report", Spec: "* * * * *", Handler: report, Timeout: 30 * time.Second}}
	return replica.New(cfg)
}

func report(_ context.Context, run jobs.Run) error {
	run.Logger.Info("reporting", "minute", jobs.FormatTick(run.Tick))
	return nil
}
