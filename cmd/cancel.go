package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
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
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				act, err := cl.known(c.Context(), act)
				if err != nil {
					return err
				}
				withdrawn := 0
				if waiting {
					if withdrawn, err = a.withdraw(c.Context(), cl, act); err != nil {
						return err
					}
				}
				cancelled, err := a.cancelRuns(c.Context(), cl, act, args[0])
				if err == nil && cancelled+withdrawn == 0 {
					return fmt.Errorf("%w: no run of %s goes on; quorate runs lists them", errNotFound, args[0])
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&run, "run", "", "only the run with this `id`")
	c.Flags().BoolVar(&waiting, "waiting", false, "also withdraw triggers and backfills of the job that are not done")
	authorFlags(c, &who)
	return c
}

// cancelRuns asks for the runs of the named job to end, and counts them. Their
// ids are those that listings show, or those that the nodes know.
func (a App) cancelRuns(ctx context.Context, cl cluster, act scheduler.Act, name string) (int, error) {
	const most = 100
	runs, err := cl.runs([]string{name})(ctx, scheduler.Query{Limit: most, Outcomes: []scheduler.Outcome{scheduler.Running}})
	if err != nil {
		return 0, err
	}
	n, only := 0, act.Run
	for _, e := range runs {
		shown := e.ID()
		e.Job = act.Job
		if act.Run = e.ID(); only != "" && only != shown && only != act.Run {
			continue
		}
		if _, err := cl.do(ctx, act); err != nil {
			return n, err
		}
		fmt.Fprintf(a.Out, "run %s on %s: asked to stop, within two seconds\n", shown, e.Replica)
		n++
	}
	return n, nil
}

// withdraw closes the job's triggers and backfills, and counts them.
func (a App) withdraw(ctx context.Context, cl cluster, act scheduler.Act) (int, error) {
	open, err := cl.acts.Open(ctx)
	if err != nil {
		return 0, err
	}
	result := "withdrawn by " + act.By
	if act.Reason != "" {
		result += ": " + act.Reason
	}
	n := 0
	var errs []error
	for _, r := range open.Requests {
		if r.Job != act.Job || r.Kind == scheduler.ActCancel {
			continue
		}
		if err := cl.acts.Close(ctx, r.ID, result); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(a.Out, "%s of %s: withdrawn\n", r.Kind, *stamp(r.At))
		n++
	}
	return n, errors.Join(errs...)
}
