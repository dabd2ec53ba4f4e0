package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
)

func (a App) ticksCommand(f *flags) *cobra.Command {
	var format string
	var limit int
	c := &cobra.Command{
		Use:   "ticks JOB",
		Short: "List what became of each tick of a job, newest first",
		Long: `List what became of each tick of a job, newest first: which replica ran it with
which token and how that ended, or why it did not run.`,
		Example: `  quorate ticks nightly-report
  quorate ticks nightly-report -o json --limit 5 | jq '.[] | select(.outcome == "missed")'`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				names, err := cl.directory(c.Context())
				if err != nil {
					return err
				}
				key := names.key(args[0])
				entries, err := cl.ledger.Ticks(c.Context(), scheduler.Query{Job: key, Limit: limit})
				if err != nil {
					return err
				}
				if len(entries) == 0 {
					if err := names.require(key); err != nil {
						return err
					}
				}
				return tickListing(names.named(entries)).print(a.Out, format)
			})
		},
	}
	outputFlag(c, &format)
	limitFlag(c, &limit)
	return c
}

func (a App) runsCommand(f *flags) *cobra.Command {
	var format string
	var limit int
	c := &cobra.Command{
		Use:   "runs [JOB]",
		Short: "List runs, newest first: one row per attempt",
		Example: `  quorate runs
  quorate runs nightly-report -o json`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				entries, err := cl.runs(c.Context(), args, limit)
				if err != nil {
					return err
				}
				return runListing(entries).print(a.Out, format)
			})
		},
	}
	outputFlag(c, &format)
	limitFlag(c, &limit)
	return c
}

// runs reads the runs of the named job, or of all that the nodes know.
func (c cluster) runs(ctx context.Context, jobs []string, limit int) ([]scheduler.Entry, error) {
	names, err := c.directory(ctx)
	if err != nil {
		return nil, err
	}
	keys := names.keys
	if len(jobs) > 0 {
		keys = []string{names.key(jobs[0])}
	}
	var all []scheduler.Entry
	for _, key := range keys {
		entries, err := c.ledger.Runs(ctx, scheduler.Query{Job: key, Limit: limit})
		if err != nil {
			return nil, err
		}
		if len(entries) == 0 && len(jobs) > 0 {
			if err := names.require(key); err != nil {
				return nil, err
			}
		}
		all = append(all, names.named(entries)...)
	}
	slices.SortStableFunc(all, func(x, y scheduler.Entry) int {
		return cmp.Or(y.OrderKey().Compare(x.OrderKey()), cmp.Compare(x.Job, y.Job), cmp.Compare(y.Token, x.Token))
	})
	return all[:min(len(all), limit)], nil
}

func tickListing(entries []scheduler.Entry) listing[tickRow] {
	l := listing[tickRow]{
		columns: []string{"TICK", "OUTCOME", "REPLICA", "TOKEN", "VOTES", "TOOK", "WHY"},
		cells: func(r tickRow) []string {
			return []string{
				r.Tick, string(r.Outcome), clip(dash(r.Replica), 24), dash(r.Token), dash(r.Votes),
				took(r.runRow, time.Now()), why(r.runRow),
			}
		},
		empty: "no tick was decided yet",
	}
	for _, e := range entries {
		l.rows = append(l.rows, newTickRow(e))
	}
	return l
}

func runListing(entries []scheduler.Entry) listing[runRow] {
	l := listing[runRow]{
		columns: []string{"JOB", "TICK", "OUTCOME", "REPLICA", "TOKEN", "TOOK", "WHY"},
		cells: func(r runRow) []string {
			return []string{
				clip(r.Job, 24), r.Tick, string(r.Outcome), clip(dash(r.Replica), 24), dash(r.Token),
				took(r, time.Now()), why(r),
			}
		},
		empty: "no job has run yet",
	}
	for _, e := range entries {
		l.rows = append(l.rows, newRunRow(e))
	}
	return l
}

func limitFlag(c *cobra.Command, limit *int) {
	c.Flags().IntVar(limit, "limit", 100, "at most so many `rows`")
	check := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if *limit < 1 {
			return usageError{fmt.Errorf("--limit %d: write 1 or more", *limit)}
		}
		return check(c, args)
	}
}
