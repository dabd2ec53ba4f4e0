package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

func ticksCommand(a *cli) *cobra.Command {
	var s selection
	c := listing(a, &cobra.Command{
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
			from := tickSource(func(ctx context.Context, q view.EntryQuery) ([]view.Tick, error) {
				return cluster.Entries(ctx, q, cl.Ticks)
			})
			if len(args) == 0 {
				from.table = allTicksTable
			}
			s.query.Job = strings.Join(args, "")
			return show(ctx, a, s, from)
		}),
	})
	selectionFlags(c, &s)
	return c
}

func runsCommand(a *cli) *cobra.Command {
	var s selection
	c := listing(a, &cobra.Command{
		Use:   "runs [JOB]",
		Short: "List runs, newest first: one row per attempt",
		Example: `  quorate runs
  quorate runs --since 24h --outcome failed,timed_out
  quorate runs nightly-report --follow`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			if slices.Contains(s.query.Outcomes, ledger.Missed) {
				return failure.Usagef("--outcome missed: a missed tick has no run; quorate ticks --outcome missed lists them")
			}
			s.query.Job = strings.Join(args, "")
			return show(ctx, a, s, runSource(func(ctx context.Context, q view.EntryQuery) ([]view.Run, error) {
				q.Each = q.Each && (s.follow || q.Filters() || !q.Before.IsZero())
				return cluster.Entries(ctx, q, cl.Runs)
			}))
		}),
	})
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

// A selection is what a listing of ticks or runs shows.
type selection struct {
	query  view.EntryQuery
	follow bool
}

// selectionFlags adds the filters to a listing.
func selectionFlags(c *cobra.Command, s *selection) {
	limitFlag(c, &s.query.Limit, usualRows)
	timeFlag(c, &s.query.Since, "since", "only ticks from this `time` on: RFC 3339")
	timeFlag(c, &s.query.Before, "until", "only ticks before this `time`: RFC 3339")
	choiceFlag(c, &s.query.Outcomes, "outcome", "only these `outcomes`", ledger.Outcomes())
	choiceFlag(c, &s.query.Triggers, "trigger", "only these `triggers`", ledger.Triggers())
	choiceFlag(c, &s.query.Reasons, "reason", "only these reason `codes`", ledger.Codes())
	c.Flags().BoolVarP(&s.follow, "follow", "f", false, "keep listing what has ended, oldest first, until interrupted; JSON as one object per line")
}

// A source reads ticks or runs.
type source[R any] struct {
	// read returns the rows that match a query, newest first.
	read  func(ctx context.Context, q view.EntryQuery) ([]R, error)
	run   func(R) view.Run // of a row
	table func([]R) output.Table[R]
}

func tickSource(read func(context.Context, view.EntryQuery) ([]view.Tick, error)) source[view.Tick] {
	return source[view.Tick]{read, func(t view.Tick) view.Run { return t.Run }, tickTable}
}

func runSource(read func(context.Context, view.EntryQuery) ([]view.Run, error)) source[view.Run] {
	return source[view.Run]{read, func(r view.Run) view.Run { return r }, runTable}
}

// show prints the selection, once or continuously.
func show[R any](ctx context.Context, a *cli, s selection, from source[R]) error {
	q := s.query
	q.Each = q.Job == ""
	if s.follow {
		q.Limit = max(q.Limit, followLook)
		f := follower[R]{source: from, query: q, first: min(s.query.Limit, followFirst), warn: a.warn}
		return f.follow(ctx, func(rows []R) error { return from.table(rows).Stream(a.Out, a.format, &f.sheet) })
	}
	rows, err := from.read(ctx, q)
	return printRows(a, from.table, rows[:min(len(rows), q.Limit)], err)
}

const (
	followEvery = time.Second
	// followFirst bounds the past entries that --follow starts with.
	followFirst = 10
	// followLook is the least number of entries per job that each poll reads, so that
	// the end of a run is seen that began many ticks ago.
	followLook = 100
)

// A follower polls, and passes on each row that has ended since, once.
type follower[R any] struct {
	source[R]
	query view.EntryQuery
	first int // how many past rows it starts with
	warn  func(format string, args ...any)

	seen  map[string]bool // rows of the last poll that were shown; nil before the first
	quiet bool            // a failure was reported
	sheet output.Sheet
}

// follow passes rows to show, oldest first, until ctx ends. While no store or server answers,
// it warns and retries.
func (f *follower[R]) follow(ctx context.Context, show func([]R) error) error {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		rows, err := f.read(ctx, f.query)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			f.quiet = false
			if err := show(f.fresh(rows)); err != nil {
				return err
			}
		case f.seen != nil && (errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, cluster.ErrUnreachable)):
			if !f.quiet {
				f.warn("%s; trying again", failure.Lines(err)[0])
			}
			f.quiet = true
		default:
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// fresh returns the rows that have ended since the last poll, oldest first.
func (f *follower[R]) fresh(rows []R) []R {
	seen := make(map[string]bool, len(rows))
	var fresh []R
	for _, row := range rows {
		r := f.run(row)
		if r.Outcome == ledger.Running {
			continue
		}
		id := fmt.Sprint(r.Job, output.Dash(r.ID), r.Tick, output.Dash(r.Trigger), output.Dash(r.Token), r.Outcome)
		if !f.seen[id] {
			fresh = append(fresh, row)
		}
		seen[id] = true
	}
	if f.seen == nil {
		fresh = fresh[:min(len(fresh), f.first)]
	}
	f.seen = seen
	slices.Reverse(fresh)
	return fresh
}
