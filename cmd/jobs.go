package cmd

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) jobsCommand(f *flags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "jobs",
		Short: "List the jobs the replicas serve, and how each fared last",
		Long: `List the jobs the replicas serve, as they published them on the nodes, and how
each fared last. A job stays listed after it was removed from the configuration;
PUBLISHED tells when a replica last served it.

VERSION tells versions of a job apart. While replicas with different ones live,
as during a roll-out, a job has a row for each, marked with an asterisk.
NEXT says paused where ticks are skipped; -o json has who paused them, and why. It
says not served where no live replica has the job, which may take some minutes to
show after a removal.`,
		Example: `  quorate jobs
  quorate jobs forget old-report      # it was removed for good`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return printRemote(c.Context(), a, api, err, "/jobs", format, func(rows []listing.Job) table[listing.Job] { return jobListing(rows, time.Now()) })
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				rows, lacking := cl.Jobs(c.Context())
				if err := listing.Whole(lacking); err != nil {
					return err
				}
				if err := cl.MarkPaused(c.Context(), rows); listing.Whole(err) != nil {
					a.warn("what is paused is not known: %v", err)
				} else if err != nil {
					lacking = err
				}
				return errors.Join(jobListing(rows, time.Now()).print(a.Out, format), lacking)
			})
		},
	}
	outputFlag(c, &format)
	c.AddCommand(a.jobsForgetCommand(f))
	return c
}

func jobListing(rows []listing.Job, now time.Time) table[listing.Job] {
	// Who looks while a version replaces another one wants to see which.
	drop := []string{"VERSION", "PUBLISHED", "LAST TICK"}
	if slices.ContainsFunc(rows, func(r listing.Job) bool { return r.Drift }) {
		drop = []string{"PUBLISHED", "LAST TICK", "SCHEDULE"}
	}
	return cellColumn(table[listing.Job]{
		columns: []string{"JOB", "SCHEDULE", "NEXT", "LAST TICK", "OUTCOME", "PUBLISHED", "VERSION"},
		cells: func(r listing.Job) []string {
			return []string{
				r.Job, dash(r.Schedule) + " " + dash(r.Timezone), nextCell(r),
				dash(r.LastTick), dash(r.LastOutcome), ago(r.Published, now), versionCell(r),
			}
		},
		rows:  rows,
		empty: "no replica has served a job on these nodes yet",
		drop:  drop,
		cut:   []string{"SCHEDULE", "JOB"},
	}, func(r listing.Job) *string { return r.Cell })
}

// nextCell is the next tick, or why none will run.
func nextCell(r listing.Job) string {
	switch {
	case !r.Live:
		return "not served"
	case r.Paused != nil:
		return "paused, skips " + dash(r.Next)
	}
	return dash(r.Next)
}

func versionCell(r listing.Job) string {
	if r.Drift {
		return dash(r.Hash) + " *"
	}
	return dash(r.Hash)
}

func ago(at *string, now time.Time) string {
	if at == nil {
		return "-"
	}
	return since(listing.Time(at), now) + " ago"
}
