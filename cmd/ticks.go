package cmd

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) ticksCommand(f *flags) *cobra.Command {
	var format string
	var s selection
	c := &cobra.Command{
		Use:   "ticks JOB",
		Short: "List what became of each tick of a job, newest first",
		Long: `List what became of each tick of a job, newest first: which replica ran it with
which token and how that ended, or why it did not run. Ticks that have no
entry are computed from the schedule that was served last.`,
		Example: `  quorate ticks nightly-report
  quorate ticks nightly-report --since 24h --outcome failed,missed
  quorate ticks nightly-report --reason overlap,no_quorum
  quorate ticks nightly-report -o json --limit 5 | jq '.[] | select(.outcome == "missed")'`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return showRemote(c.Context(), a, api, err, "/jobs/"+url.PathEscape(args[0])+"/ticks", s, format, tickSource(nil))
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				return show(c.Context(), a, s, format, tickSource(cl.ticks(args[0])))
			})
		},
	}
	outputFlag(c, &format)
	selectionFlags(c, &s)
	return c
}

// ticks reads the ticks of the named job, those that nobody could record
// included.
func (c cluster) ticks(job string) reader {
	return func(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) { return c.Ticks(ctx, job, q) }
}

func (a App) runsCommand(f *flags) *cobra.Command {
	var format string
	var s selection
	c := &cobra.Command{
		Use:   "runs [JOB]",
		Short: "List runs, newest first: one row per attempt",
		Example: `  quorate runs
  quorate runs --since 24h --outcome failed,timed_out
  quorate runs nightly-report --follow`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if api, err := f.api(); api != nil || err != nil {
				path := "/runs"
				if len(args) > 0 {
					path = "/jobs/" + url.PathEscape(args[0]) + path
				}
				return showRemote(c.Context(), a, api, err, path, s, format, runSource(nil))
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				var lacking error
				if err := show(c.Context(), a, s, format, runSource(cl.runs(args, s, &lacking))); err != nil {
					return err
				}
				return lacking
			})
		},
	}
	outputFlag(c, &format)
	selectionFlags(c, &s)
	return c
}

// runs reads the runs of the named job, or the latest of all that the nodes know;
// where that is not all there are, lacking is set.
func (c cluster) runs(jobs []string, s selection, lacking *error) reader {
	return func(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
		if len(jobs) > 0 {
			return c.Runs(ctx, jobs[0], q)
		}
		var all []scheduler.Entry
		if s.follow || q.Filters() || !q.Before.IsZero() {
			all, *lacking = c.RunsOfEach(ctx, q)
		} else {
			var page listing.Page
			page, *lacking = c.Recent(ctx, listing.RecentQuery{Limit: q.Limit, Since: q.Since})
			all = page.Entries
		}
		return all, listing.Whole(*lacking)
	}
}

func tickTable(rows []listing.Tick) table[listing.Tick] {
	return table[listing.Tick]{
		rows:    rows,
		columns: []string{"TICK", "OUTCOME", "REPLICA", "TOKEN", "VOTES", "TOOK", "WHY"},
		cells: func(r listing.Tick) []string {
			return []string{
				r.Tick, string(r.Outcome), dash(r.Replica), dash(r.Token), dash(r.Votes),
				took(r.Run, time.Now()), why(r.Run),
			}
		},
		empty: "no such tick: none was decided yet, or none that was asked for",
		below: []string{"WHY"},
		drop:  []string{"VOTES", "TOKEN"},
		cut:   []string{"REPLICA"},
	}
}

func runTable(rows []listing.Run) table[listing.Run] {
	return table[listing.Run]{
		rows:    rows,
		columns: []string{"JOB", "TICK", "OUTCOME", "REPLICA", "TOKEN", "TOOK", "WHY"},
		cells: func(r listing.Run) []string {
			return []string{
				r.Job, r.Tick, string(r.Outcome), dash(r.Replica), dash(r.Token),
				took(r, time.Now()), why(r),
			}
		},
		empty: "no such run: nothing has run yet, or nothing that was asked for",
		below: []string{"WHY"},
		drop:  []string{"TOKEN", "TOOK"},
		cut:   []string{"JOB", "REPLICA"},
	}
}

// usualRows is how many rows of the past a listing has, unless asked for others.
const usualRows = 100

func limitFlag(c *cobra.Command, limit *int, usual int) {
	c.Flags().IntVarP(limit, "limit", "n", usual, "at most so many `rows`")
	check := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if *limit < 1 {
			return usageError{fmt.Errorf("--limit %d: write 1 or more", *limit)}
		}
		return check(c, args)
	}
}
