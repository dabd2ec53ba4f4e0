package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/acts"
)

func pauseCommand(a *cli) *cobra.Command {
	var what target
	c := &cobra.Command{
		Use:   "pause [JOB]",
		Short: "Skip the ticks of a job, of a tag, or of all jobs, until they are resumed",
		Long: `Skip the ticks of a job, of all jobs with a tag, or of all jobs, in the whole
cluster, until they are resumed. The ledger records each as skipped, with the author,
time and reason of the pause. They are not caught up later.

Running jobs continue; quorate cancel ends them. quorate trigger still runs a paused
job. Replicas follow within two seconds, new ones before their first tick. A job is
paused while any pause covers it: its own, one of its tags, or all.`,
		Example: `  quorate pause nightly-report --reason "the bank is down"
  quorate pause --tag finance --reason "closing of the year"
  quorate pause --all --reason "moving to another data centre" --as ops`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			act, err := what.act(acts.Pause, args)
			if err != nil {
				return err
			}
			if a.reason == "" {
				return failure.Usagef(`give a reason with --reason "…": every skipped tick will have it`)
			}
			return pauseOrResume(c.Context(), a, act, "")
		},
	}
	targetFlags(c, &what)
	authorFlags(c, a)
	return c
}

func pausesCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "pauses",
		Short: "List the pauses in force, oldest first",
		Long: `List the pauses in force, oldest first: of jobs, of tags and of all jobs. The list
includes pauses of jobs and tags that do not exist. quorate resume --id ends any of
them. quorate jobs shows the jobs that the configuration pauses (paused: true).`,
		Example: `  quorate pauses
  quorate resume --id "$(quorate pauses -o json | jq -r '.[0].id')"`,
		RunE: listRows(a, cluster.Cluster.Pauses, pauseListing),
	}
	outputFlag(c, a)
	return c
}

func pauseListing(rows []view.Act) output.Table[view.Act] {
	return output.Table[view.Act]{
		Columns: []string{"OF", "SINCE", "BY", "ID", "WHY"},
		Cells: func(r view.Act) []string {
			return []string{r.Target(), r.At, output.Dash(r.By), r.ID, output.Dash(r.Reason)}
		},
		Rows:  rows,
		Empty: "there are no pauses",
		Below: []string{"WHY"},
		Cut:   []string{"OF", "BY"},
	}
}

func resumeCommand(a *cli) *cobra.Command {
	var what target
	var id string
	c := &cobra.Command{
		Use:   "resume [JOB]",
		Short: "End a pause: of a job, of a tag, of all jobs, or by its ID",
		Long: `End the pause of a job, of a tag, or of all jobs. Each form ends only that pause: a
job stays paused while one of its tags is. To resume a job with paused: true, change
the configuration. --id ends the pause with an ID from quorate pauses.`,
		Example: `  quorate resume nightly-report
  quorate resume --tag finance --reason "the books are closed"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if id != "" {
				if len(args) > 0 || what.tag != "" || what.all {
					return failure.Usagef("--id: write it alone, without a job, --tag and --all")
				}
				return pauseOrResume(c.Context(), a, acts.Act{Kind: acts.Resume}, id)
			}
			act, err := what.act(acts.Resume, args)
			if err != nil {
				return err
			}
			return pauseOrResume(c.Context(), a, act, "")
		},
	}
	c.Flags().StringVar(&id, "id", "", "the pause with this `ID`")
	targetFlags(c, &what)
	authorFlags(c, a)
	return c
}

// pauseOrResume requests the act, or ends the pause with the ID.
func pauseOrResume(ctx context.Context, a *cli, act acts.Act, id string) error {
	return a.withCluster(ctx, func(cl cluster.Cluster) error {
		done, warning, err := cl.PauseOrResume(ctx, a.sign(act), id)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s: %sd by %s; replicas follow within two seconds\n", done.Target(), act.Kind, view.Text(done.By))
		a.warnOf(warning)
		return nil
	})
}
