package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
)

func (a App) pauseCommand(f *flags) *cobra.Command {
	var who author
	var what target
	c := &cobra.Command{
		Use:   "pause [JOB]",
		Short: "Skip the ticks of a job, of a tag, or of all jobs, until they are resumed",
		Long: `Skip the ticks of a job, of all jobs with a tag, or of all jobs, in the whole
cluster, until they are resumed. The ledger has each of them as skipped, with
who paused it, since when, and why. They are not caught up later.

What runs goes on; quorate cancel ends it. A trigger runs a paused job all the
same. Replicas follow within two seconds, those that start later before their
first tick. A job is paused while any pause covers it: its own, that of a tag,
or that of all.`,
		Example: `  quorate pause nightly-report --reason "the bank is down"
  quorate pause --tag finance --reason "closing of the year"
  quorate pause --all --reason "moving to another data centre" --as ops`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.stand(c, f, scheduler.ActPause, who, what, args)
		},
	}
	targetFlags(c, &what)
	authorFlags(c, &who)
	return c
}

func (a App) resumeCommand(f *flags) *cobra.Command {
	var who author
	var what target
	c := &cobra.Command{
		Use:   "resume [JOB]",
		Short: "End a pause: of a job, of a tag, or of all jobs",
		Long: `End the pause of a job, of a tag, or of all jobs. Each ends only the pause of
its own kind: a job stays paused while that of one of its tags stands. What the
configuration pauses (paused: true) is resumed there.`,
		Example: `  quorate resume nightly-report
  quorate resume --tag finance --reason "the books are closed"`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.stand(c, f, scheduler.ActResume, who, what, args)
		},
	}
	targetFlags(c, &what)
	authorFlags(c, &who)
	return c
}

// stand pauses or resumes.
func (a App) stand(c *cobra.Command, f *flags, kind scheduler.ActKind, who author, what target, args []string) error {
	act, err := what.act(kind, args)
	if err != nil {
		return err
	}
	if kind == scheduler.ActPause && who.reason == "" {
		return usageError{errors.New(`say why with --reason "…": every tick that is skipped will carry it`)}
	}
	if api, err := f.api(); api != nil || err != nil {
		return a.remoteStand(c.Context(), api, err, who.sign(act))
	}
	return a.withCluster(c.Context(), f, func(cl cluster) error {
		act, doubt, err := cl.Stand(c.Context(), who.sign(act))
		if err != nil {
			return asked(err)
		}
		fmt.Fprintf(a.Out, "%s: %sd by %s; replicas follow within two seconds\n", act.Target(), kind, act.By)
		if doubt != "" {
			a.warn("%s", doubt)
		}
		return nil
	})
}
