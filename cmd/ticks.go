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
	var s selection
	c := &cobra.Command{
		Use:   "ticks JOB",
		Short: "List what became of each tick of a job, newest first",
		Long: `List what became of each tick of a job, newest first: which replica ran it with
which token and how that ended, or why it did not run. Ticks that came since while
no replica was running are computed from the schedule that was served last.`,
		Example: `  quorate ticks nightly-report
  quorate ticks nightly-report --since 24h --outcome failed,missed
  quorate ticks nightly-report -o json --limit 5 | jq '.[] | select(.outcome == "missed")'`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				return show(c.Context(), a, s, format, a.ticks(f, cl, args[0]), tickListing)
			})
		},
	}
	outputFlag(c, &format)
	selectionFlags(c, &s)
	return c
}

// ticks reads the ticks of the named job, those that nobody could record
// included.
func (a App) ticks(f *flags, cl cluster, job string) reader {
	return func(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
		names, err := cl.directory(ctx)
		if err != nil {
			return nil, err
		}
		q.Job = names.key(job)
		entries, err := cl.ledger.Ticks(ctx, q)
		if err != nil {
			return nil, err
		}
		missed, err := a.unattended(ctx, f, cl, names, q.Job, q)
		if err != nil {
			return nil, err
		}
		if entries = append(missed, entries...); len(entries) == 0 {
			if err := names.require(q.Job); err != nil {
				return nil, err
			}
		}
		return names.named(entries), nil
	}
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
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				if err := show(c.Context(), a, s, format, cl.runs(args), runListing); err != nil || len(args) > 0 {
					return err
				}
				return cl.lacking.err
			})
		},
	}
	outputFlag(c, &format)
	selectionFlags(c, &s)
	return c
}

// runs reads the runs of the named job, or of all that the nodes know.
func (c cluster) runs(jobs []string) reader {
	return func(ctx context.Context, q scheduler.Query) ([]scheduler.Entry, error) {
		names, err := c.directory(ctx)
		if err != nil {
			return nil, err
		}
		keys := names.keys
		if len(jobs) > 0 {
			keys = []string{names.key(jobs[0])}
		}
		var all []scheduler.Entry
		for _, q.Job = range keys {
			entries, err := c.ledger.Runs(ctx, q)
			if err != nil {
				return nil, err
			}
			if len(entries) == 0 && len(jobs) > 0 {
				if err := names.require(q.Job); err != nil {
					return nil, err
				}
			}
			all = append(all, names.named(entries)...)
		}
		slices.SortStableFunc(all, func(x, y scheduler.Entry) int {
			return cmp.Or(y.OrderKey().Compare(x.OrderKey()), cmp.Compare(x.Job, y.Job), cmp.Compare(y.Token, x.Token))
		})
		return all, nil
	}
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
		empty: "no such tick: none was decided yet, or none that was asked for",
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
		empty: "no such run: nothing has run yet, or nothing that was asked for",
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
