package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) cancelCommand(f *flags) *cobra.Command {
	var who author
	var run string
	var waiting bool
	c := &cobra.Command{
		Use:   "cancel JOB",
		Short: "End a run that goes on, on whichever replica it is",
		Long: `End the run of a job that goes on, on whichever replica it is: its context ends
with cause jobs.ErrCancelled, and the ledger has it as cancelled, with who asked
for it and why, once the function has returned. A function that does not heed its
context goes on; quorate locks release takes its lock away.

With --waiting the job's triggers and backfills that are not done are withdrawn,
too. Exit code 3 if there is nothing to cancel.`,
		Example: `  quorate cancel nightly-report --reason "wrong data"
  quorate cancel nightly-report --run nightly-report@20270101T020000.000Z
  quorate cancel nightly-report --waiting --reason "the backfill is not needed"`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			act := who.sign(scheduler.Act{Kind: scheduler.ActCancel, Job: args[0], Run: run})
			if api, err := f.api(); api != nil || err != nil {
				return a.remoteCancel(c.Context(), api, err, act, waiting)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				done, err := cl.Cancel(c.Context(), act, waiting)
				for _, r := range done.Withdrawn {
					fmt.Fprintf(a.Out, "%s of %s: withdrawn\n", r.Kind, *listing.Stamp(r.At))
				}
				for _, e := range done.Runs {
					fmt.Fprintf(a.Out, "run %s on %s: asked to stop, within two seconds\n", e.ID(), e.Replica)
				}
				return asked(err)
			})
		},
	}
	c.Flags().StringVar(&run, "run", "", "only the run with this `id`")
	c.Flags().BoolVar(&waiting, "waiting", false, "also withdraw triggers and backfills of the job that are not done")
	authorFlags(c, &who)
	return c
}
