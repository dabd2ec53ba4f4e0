package cmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

func ticksCommand(a *cli) *cobra.Command {
	var s selection
	c := &cobra.Command{
		Use:   "ticks [JOB]",
		Short: "List each tick of a job, or of all, with its outcome, newest first",
		Long: `List each tick of a job, or of all jobs, newest first: the replica that ran it, its
token and its outcome, or why it did not run. Ticks without a ledger entry are computed
from the schedule that was served last; with --server only for one job.`,
		Example: `  quorate ticks nightly-report
  quorate ticks --since 24h --outcome missed
  quorate ticks nightly-report --since 24h --outcome failed,missed
  quorate ticks nightly-report --reason overlap,no_quorum
  quorate ticks nightly-report -o json --limit 5 | jq '.[] | select(.outcome == "missed")'`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			from := tickSource(func(ctx context.Context, q ledger.Query) ([]view.Tick, error) {
				return cl.Ticks(ctx, strings.Join(args, ""), q)
			})
			if len(args) == 0 {
				from.table = allTicksTable
			}
			return show(ctx, a, s, from)
		}),
	}
	outputFlag(c, a)
	selectionFlags(c, &s)
	return c
}

func runsCommand(a *cli) *cobra.Command {
	var s selection
	c := &cobra.Command{
		Use:   "runs [JOB]",
		Short: "List runs, newest first: one row per attempt",
		Example: `  quorate runs
  quorate runs --since 24h --outcome failed,timed_out
  quorate runs nightly-report --follow`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			if slices.Contains(s.outcomes, string(ledger.Missed)) {
				return failure.Usagef("--outcome missed: a missed tick has no run; quorate ticks --outcome missed lists them")
			}
			return show(ctx, a, s, runSource(func(ctx context.Context, q ledger.Query) ([]view.Run, error) {
				return cl.Runs(ctx, strings.Join(args, ""), q, s.follow)
			}))
		}),
	}
	outputFlag(c, a)
	selectionFlags(c, &s)
	return c
}

func tickTable(rows []view.Tick) output.Table[view.Tick] {
	return output.Table[view.Tick]{
		Rows:    rows,
		Columns: []string{"TICK", "OUTCOME", "REPLICA", "TOKEN", "VOTES", "TOOK", "WHY"},
		Cells: func(r view.Tick) []string {
			return []string{
				r.Tick, string(r.Outcome), output.Dash(r.Replica), output.Dash(r.Token), ofSeveral(output.Dash(r.Votes)),
				output.Took(r.Run, time.Now()), output.Why(r.Run),
			}
		},
		Empty:  "no ticks, or none that match",
		Below:  []string{"WHY"},
		Sparse: []string{"VOTES"},
		Drop:   []string{"VOTES", "TOKEN"},
		Cut:    []string{"REPLICA"},
	}
}

// allTicksTable names the job of each tick.
func allTicksTable(rows []view.Tick) output.Table[view.Tick] {
	t := tickTable(rows)
	cells := t.Cells
	t.Columns = append([]string{"JOB"}, t.Columns...)
	t.Cells = func(r view.Tick) []string { return append([]string{r.Job}, cells(r)...) }
	t.Cut = append(t.Cut, "JOB")
	return t
}

func runTable(rows []view.Run) output.Table[view.Run] {
	return output.Table[view.Run]{
		Rows:    rows,
		Columns: []string{"JOB", "TICK", "OUTCOME", "REPLICA", "TOKEN", "TOOK", "WHY"},
		Cells: func(r view.Run) []string {
			return []string{
				r.Job, r.Tick, string(r.Outcome), output.Dash(r.Replica), output.Dash(r.Token),
				output.Took(r, time.Now()), output.Why(r),
			}
		},
		Empty: "no runs, or none that match; quorate ticks also lists what did not run",
		Below: []string{"WHY"},
		Drop:  []string{"TOKEN", "TOOK"},
		Cut:   []string{"JOB", "REPLICA"},
	}
}

// usualRows is the default number of rows.
const usualRows = 100

func limitFlag(c *cobra.Command, limit *int, usual int) {
	c.Flags().IntVarP(limit, "limit", "n", usual, "number of `rows` at most")
	check := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if *limit < 1 {
			return failure.Usagef("--limit %d: write 1 or more", *limit)
		}
		return check(c, args)
	}
}

func logsCommand(a *cli) *cobra.Command {
	var attempt int
	c := &cobra.Command{
		Use:   "logs JOB [RUN]",
		Short: "Show the log of a run, including the output of exec jobs",
		Long: `Show the log of the last run of a job, or of the run with an ID or tick. It has the
lines from level info on, and the output of exec jobs. The log of a running run is up
to 5 seconds old. The ledger keeps the last 16 KiB of a log as long as the run.`,
		Example: `  quorate logs nightly-report
  quorate logs nightly-report 2026-12-01T02:00:00Z --attempt 1`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			row, err := cl.Log(ctx, args[0], strings.Join(args[1:], ""), attempt)
			if err != nil {
				return err
			}
			return printLog(a.Out, row, a.format)
		}),
	}
	outputFlag(c, a)
	c.Flags().IntVar(&attempt, "attempt", 0, "`number` of the attempt, from 1; default the last")
	return c
}

// printLog writes the log, or a JSON array with this row. It escapes control characters.
func printLog(w io.Writer, r view.Log, format string) error {
	if format == "json" {
		return output.JSON(w, []view.Log{r})
	}
	if r.Cut > 0 {
		fmt.Fprintf(w, "… (%d earlier bytes were dropped)\n", r.Cut)
	}
	_, err := io.WriteString(w, strings.Map(output.VisibleInLines, r.Text))
	return err
}
