package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
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

func (a App) pausesCommand(f *flags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "pauses",
		Short: "List the pauses that stand, the oldest first",
		Long: `List the pauses that stand, the oldest first: of jobs, of tags and of all jobs,
those included whose job or tag nobody has. quorate resume --id ends any of them.
What the configuration pauses (paused: true) is in quorate jobs.`,
		Example: `  quorate pauses
  quorate resume --id "$(quorate pauses -o json | jq -r '.[0].id')"`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return printRemote(c.Context(), a, api, err, "/pauses", format, pauseListing)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				rows, lacking := cl.Pauses(c.Context())
				if err := listing.Whole(lacking); err != nil {
					return err
				}
				return errors.Join(pauseListing(rows).print(a.Out, format), lacking)
			})
		},
	}
	outputFlag(c, &format)
	return c
}

func pauseListing(rows []listing.Act) table[listing.Act] {
	return table[listing.Act]{
		columns: []string{"OF", "SINCE", "BY", "ID", "WHY"},
		cells: func(r listing.Act) []string {
			return []string{r.Target(), r.At, dash(r.By), r.ID, clip(dash(r.Reason), 120)}
		},
		rows:  rows,
		empty: "nothing is paused by hand",
		below: []string{"WHY"},
		cut:   []string{"OF", "BY"},
	}
}

func (a App) resumeCommand(f *flags) *cobra.Command {
	var who author
	var what target
	var id string
	c := &cobra.Command{
		Use:   "resume [JOB]",
		Short: "End a pause: of a job, of a tag, of all jobs, or by its id",
		Long: `End the pause of a job, of a tag, or of all jobs. Each ends only the pause of
its own kind: a job stays paused while that of one of its tags stands. What the
configuration pauses (paused: true) is resumed there. --id ends the pause with that
id, which quorate pauses lists, whatever it is about.`,
		Example: `  quorate resume nightly-report
  quorate resume --tag finance --reason "the books are closed"`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if id == "" {
				return a.stand(c, f, scheduler.ActResume, who, what, args)
			}
			if len(args) > 0 || what.tag != "" || what.all {
				return usageError{errors.New("--id: write it alone, without a job, --tag and --all")}
			}
			return a.resumeID(c, f, who, id)
		},
	}
	c.Flags().StringVar(&id, "id", "", "the pause with this `id`")
	targetFlags(c, &what)
	authorFlags(c, &who)
	return c
}

// resumeID ends the pause with the id.
func (a App) resumeID(c *cobra.Command, f *flags, who author, id string) error {
	act := who.sign(scheduler.Act{Kind: scheduler.ActResume})
	if api, err := f.api(); api != nil || err != nil {
		return a.remoteStand(c.Context(), api, err, act, id)
	}
	return a.withCluster(c.Context(), f, func(cl cluster) error {
		done, err := cl.Resume(c.Context(), act, id)
		if err != nil {
			return asked(err)
		}
		a.sayStood(done.Target(), done.Kind, done.By)
		return nil
	})
}

// sayStood says that a target is paused or resumed.
func (a App) sayStood(target string, kind scheduler.ActKind, by string) {
	fmt.Fprintf(a.Out, "%s: %sd by %s; replicas follow within two seconds\n", target, kind, by)
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
		return a.remoteStand(c.Context(), api, err, who.sign(act), "")
	}
	return a.withCluster(c.Context(), f, func(cl cluster) error {
		act, doubt, err := cl.Stand(c.Context(), who.sign(act))
		if err != nil {
			return asked(err)
		}
		a.sayStood(act.Target(), kind, act.By)
		if doubt != "" {
			a.warn("%s", doubt)
		}
		return nil
	})
}
