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
	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) jobsForgetCommand(f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "forget JOB",
		Short: "Drop what the nodes keep of a job that was removed",
		Long: `Drop what the nodes keep of a job, or of a plain lock, that was removed for good:
its claim, its whole ledger, and its line in quorate jobs.

It is refused while somebody holds the job's lock and while a live replica still
serves the job: remove it from the configuration of all replicas first, and wait
for ten minutes after they have taken that in, or restart them.

Replicas forget by themselves what nobody has served for scheduler.forget_after
(30 days). This command does it earlier, and also forgets plain locks and what
was never published. A pause of the job stays: quorate resume ends it.

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
func (c cluster) forget(ctx context.Context, name string, now time.Time) error {
	names, err := c.Directory(ctx)
	if err != nil {
		return err
	}
	key := names.Key(name)
	published, err := c.removed(ctx, key, now)
	if err != nil {
		return err
	}
	err = c.Forget(ctx, key)
	switch unknown := errors.Is(err, redlock.ErrUnknownName); {
	case unknown && len(published) == 0:
		return fmt.Errorf("%w: %w; quorate jobs and quorate locks list what there is", listing.ErrNotFound, err)
	case err != nil && !unknown:
		return err
	}
	return c.Roster.Unpublish(ctx, published)
}

// removed lists the published versions of a job; it returns an error if a live
// replica may serve one.
func (c cluster) removed(ctx context.Context, key string, now time.Time) ([]scheduler.JobInfo, error) {
	known, err := c.Roster.Jobs(ctx)
	if listing.Whole(err) != nil {
		return nil, err
	}
	live, err := c.Roster.Replicas(ctx)
	if listing.Whole(err) != nil {
		return nil, err
	}
	versions := slices.DeleteFunc(known, func(j scheduler.JobInfo) bool { return j.StoredAs() != key })
	if by := scheduler.ServedBy(versions, live, now); by != "" {
		return nil, fmt.Errorf("%s may still be served by replica %s: remove it from the configuration of all replicas, and forget it ten minutes after they have taken that in, or at once when all were restarted", key, by)
	}
	return versions, nil
}
