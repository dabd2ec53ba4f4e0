package cmd

import (
	"context"
	"errors"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler/replica"
)

func (a App) runCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run one replica until SIGTERM, then drain",
		Long: `Run one replica against the configured nodes until SIGTERM or SIGINT. Then it
drains: it takes no new ticks, running jobs go on for scheduler.drain_timeout
while their leases are extended, then their contexts end. A second signal ends
them at once. Exit code 1 if a function did not return even then.

When the configuration file changes, or at SIGHUP, it is read again: jobs that
were added, changed or removed are served from then on, and what runs goes on. A
file with a mistake changes nothing. Settings besides the jobs need a restart.`,
		Example: `  quorate run --config prod.yaml
  QUORATE__LOG__LEVEL=debug quorate run --set scheduler/drain_timeout=10s`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			source := f.source()
			config, err := replica.Read(source, a.Registry)
			if err != nil {
				return err
			}
			r, err := replica.New(config, a.Registry, replica.Options{Version: Version(), LogOutput: a.Err, Source: &source})
			if err != nil {
				return err
			}
			if a.Hangup != nil {
				signal.Notify(a.Hangup, syscall.SIGHUP)
				defer signal.Stop(a.Hangup)
			}
			return a.runAll(c.Context(), []*replica.Replica{r})
		},
	}
}

// heed tells the replicas what signals say until they have ended.
func (a App) heed(replicas []*replica.Replica, ended <-chan struct{}) {
	hard := a.Hard
	for {
		select {
		case <-a.Hangup:
			for _, r := range replicas {
				r.Reload()
			}
		case <-hard:
			hard = nil
			for _, r := range replicas {
				r.Abort()
			}
		case <-ended:
			return
		}
	}
}

// runAll runs the replicas until ctx ends and they have drained; a.Hard cuts
// the drain short. The first replica that fails ends the others.
func (a App) runAll(ctx context.Context, replicas []*replica.Replica) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	var watcher, running sync.WaitGroup
	watcher.Go(func() { a.heed(replicas, ended) })
	errs := make([]error, len(replicas))
	for i, r := range replicas {
		running.Go(func() {
			if errs[i] = r.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	close(ended)
	watcher.Wait()
	return errors.Join(errs...)
}
