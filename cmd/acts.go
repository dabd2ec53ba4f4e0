package cmd

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/acts"
)

// authorFlags adds --as and --reason to a command that acts.
func authorFlags(c *cobra.Command, a *cli) {
	c.Flags().StringVar(&a.by, "as", "", "your name in the audit log (default `user@host`)")
	c.Flags().StringVar(&a.reason, "reason", "", "reason, in a few `words`, for the audit log")
}

// sign sets the author and the reason of the act.
func (a *cli) sign(act acts.Act) acts.Act {
	act.By, act.Reason = a.by, a.reason
	if act.By == "" {
		act.By = whoami()
	}
	return act
}

// whoami returns the user and host of this process.
func whoami() string {
	name, host := os.Getenv("USER"), "unknown host"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// A target is what a pause applies to: one job, a tag, or all jobs.
type target struct {
	tag string
	all bool
}

func targetFlags(c *cobra.Command, t *target) {
	c.Flags().StringVar(&t.tag, "tag", "", "all jobs with this `tag`")
	c.Flags().BoolVar(&t.all, "all", false, "all jobs of the namespace")
}

// act returns an act on the target; args may name a job.
func (t target) act(kind acts.Kind, args []string) (acts.Act, error) {
	named := len(args)
	if t.tag != "" {
		named++
	}
	if t.all {
		named++
	}
	if named != 1 {
		return acts.Act{}, failure.Usagef("name one job, or write --tag TAG or --all")
	}
	act := acts.Act{Kind: kind, Tag: t.tag, All: t.all}
	if len(args) == 1 {
		act.Job = args[0]
	}
	return act, nil
}

// checkWithin refuses durations that the scheduler would take for the default.
func checkWithin(within time.Duration) error {
	if within < time.Second {
		return failure.Usagef("--within %v: write 1s or more", within)
	}
	return nil
}

// parseTime parses a time flag: RFC 3339, or a date, which means midnight UTC.
func parseTime(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, failure.Usagef("--%s %q: write a time such as 2027-01-01T00:00:00Z, or a date", flag, text)
}

func cancelCommand(a *cli) *cobra.Command {
	var run string
	var waiting bool
	c := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel the running run of a job, on any replica",
		Long: `Cancel the running run of a job, on any replica: its context ends with cause
jobs.ErrCancelled. When the function has returned, the ledger records the run as
cancelled, with your name and the reason. A function that ignores its context
continues; quorate locks release takes its lock away.

--waiting also withdraws the job's pending triggers and backfills. Exit code 3 if
there is nothing to cancel.`,
		Example: `  quorate cancel nightly-report --reason "wrong data"
  quorate cancel nightly-report --run nightly-report@20270101T020000.000Z
  quorate cancel nightly-report --waiting --reason "the backfill is not needed"`,
		Args: cobra.ExactArgs(1),
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			done, err := cl.Cancel(ctx, a.sign(acts.Act{Kind: acts.Cancel, Job: args[0], Run: run}), waiting)
			for _, r := range done.Withdrawn {
				fmt.Fprintf(a.Out, "%s of %s: withdrawn\n", r.Kind, r.At)
			}
			for _, r := range done.Runs {
				fmt.Fprintf(a.Out, "run %s on %s: asked to stop, within two seconds\n", view.Text(r.ID), view.Text(r.Replica))
			}
			return err
		}),
	}
	c.Flags().StringVar(&run, "run", "", "only the run with this `ID`")
	c.Flags().BoolVar(&waiting, "waiting", false, "also withdraw the job's pending triggers and backfills")
	authorFlags(c, a)
	return c
}
