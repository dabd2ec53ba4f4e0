package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
)

func (a App) jobsForgetCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "forget JOB",
		Short: "Drop what the nodes keep of a job that was removed",
		Long: `Drop what the nodes keep of a job, or of a plain lock, that was removed for good:
its claim, its whole ledger, and its line in quorate jobs.

It is refused while somebody holds the job's lock and while a live replica still
serves the job: remove it from the configuration of all replicas first.

Should the name come back, nothing runs twice: each node remembers, for all it
has forgotten together, the largest token and the latest tick. Tokens go on
growing, and ticks up to then stay closed, also those of a job that never ran.

A quorum of nodes is enough; repeat it when the others are back, to free their
memory too. Exit code 3 when the nodes keep nothing of the job, 4 when fewer
than a quorum answer.`,
		Example: `  quorate jobs forget old-report`,
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				if err := cl.forget(c.Context(), args[0], time.Now()); err != nil {
					return err
				}
				fmt.Fprintf(a.Out, "%s: claim and ledger are gone; its ticks stay closed and its tokens used\n", args[0])
				return nil
			})
		},
	}
}

// forget drops what the nodes keep of a job that no live replica serves.
func (c cluster) forget(ctx context.Context, job string, now time.Time) error {
	published, err := c.removed(ctx, job, now)
	if err != nil {
		return err
	}
	err = redlock.Forget(ctx, c.set, job)
	switch unknown := errors.Is(err, redlock.ErrUnknownName); {
	case unknown && !published:
		return fmt.Errorf("%w: %w; quorate jobs and quorate locks list what there is", errNotFound, err)
	case err != nil && !unknown:
		return err
	case published:
		return c.ledger.Unpublish(ctx, job)
	}
	return nil
}

// removed tells whether the job is still published; it returns an error if a
// live replica may serve it.
func (c cluster) removed(ctx context.Context, job string, now time.Time) (published bool, err error) {
	known, err := c.ledger.Jobs(ctx)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(known, func(j scheduler.JobInfo) bool { return j.Name == job })
	if i < 0 {
		return false, nil
	}
	live, err := c.ledger.Replicas(ctx)
	if err != nil {
		return false, err
	}
	if by := known[i].ServedBy(live, now); by != "" {
		return false, fmt.Errorf("%s may still be served by replica %s: remove it from the configuration of all replicas and restart them, then forget it", job, by)
	}
	return true, nil
}
