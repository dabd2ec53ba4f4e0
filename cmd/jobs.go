package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
)

func jobsCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs that the replicas serve, each with its last tick",
		Long: `List the jobs that the replicas serve, as they published them in the store, each
with its last tick. A job that was removed from the configuration stays listed;
SERVED says for how long replicas have served this version, or until when.

VERSION distinguishes versions of a job. While replicas serve different versions, as
during a rollout, a job has a row for each, marked with an asterisk. NEXT is "paused"
if ticks are skipped; -o json has the author and the reason. NEXT is "not served" if
no live replica has the job, which can appear some minutes after its removal.`,
		Example: `  quorate jobs
  quorate jobs forget old-report      # it was removed permanently`,
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
			rows, warning, err := cl.Jobs(ctx)
			a.warnOf(warning)
			return printRows(a, asOfNow(jobListing), rows, err)
		}),
	}
	outputFlag(c, a)
	c.AddCommand(jobsForgetCommand(a))
	return c
}

func jobListing(rows []view.Job, now time.Time) output.Table[view.Job] {
	// During a rollout the version matters more than the schedule.
	drop := []string{"VERSION", "SERVED", "LAST TICK"}
	if slices.ContainsFunc(rows, func(r view.Job) bool { return r.Drift }) {
		drop = []string{"SERVED", "LAST TICK", "SCHEDULE"}
	}
	return output.Table[view.Job]{
		Columns: []string{"JOB", "SCHEDULE", "NEXT", "LAST TICK", "OUTCOME", "SERVED", "VERSION"},
		Cells: func(r view.Job) []string {
			return []string{
				r.Job, output.Dash(r.Schedule) + " " + output.Dash(r.Timezone), nextCell(r),
				output.Dash(r.LastTick), output.Dash(r.LastOutcome), servedCell(r, now), versionCell(r),
			}
		},
		Rows:  rows,
		Empty: "no replica has served a job on this store yet",
		Drop:  drop,
		Cut:   []string{"SCHEDULE", "JOB"},
	}
}

// nextCell shows the next tick, or why none will run.
func nextCell(r view.Job) string {
	switch {
	case !r.Live:
		return "not served"
	case r.Paused != nil:
		return "paused, skips " + output.Dash(r.Next)
	}
	return output.Dash(r.Next)
}

func versionCell(r view.Job) string {
	if r.Drift {
		return output.Dash(r.Hash) + " *"
	}
	return output.Dash(r.Hash)
}

// servedCell says for how long the version has been served, or until when it was.
func servedCell(r view.Job, now time.Time) string {
	switch {
	case r.Live && r.Since != nil:
		return "for " + output.Since(view.Time(r.Since), now)
	case !r.Live && r.Published != nil:
		return "until " + output.Since(view.Time(r.Published), now) + " ago"
	}
	return "-"
}

func jobsForgetCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "forget JOB",
		Short: "Delete the store's data about a removed job",
		Long: `Delete the store's data about a job, or a plain lock, that was removed permanently:
its claim, its ledger, and its row in quorate jobs.

The command is refused while the job's lock is held, and while a live replica serves
the job. First remove the job from the configuration of all replicas. Then wait ten
minutes after they have reloaded it, or restart them.

Replicas do this by themselves for jobs that were not served for
scheduler.forget_after (30 days). The command does it earlier, and also forgets plain
locks and jobs that were never published. A pause of the job stays until
quorate resume ends it.

If the name comes back, nothing runs twice: each node remembers the largest token and
the latest tick of everything it has forgotten. Tokens keep growing. Ticks up to then
stay closed, also for a job that never ran.

Of Redis nodes a quorum suffices. Repeat the command when the others are back, to free
their memory too. Exit code 3 if the store has no data about the job, 4 if it does not
answer.`,
		Example: `  quorate jobs forget old-report`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withStore(c.Context(), func(s *cluster.Store) error {
				if err := s.ForgetJob(c.Context(), args[0], time.Now()); err != nil {
					return err
				}
				fmt.Fprintf(a.Out, "%s: claim and ledger are deleted; its ticks stay closed and its tokens used\n", args[0])
				return nil
			})
		},
	}
}
