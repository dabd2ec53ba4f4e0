package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
)

// A jobRow is one job as `quorate jobs -o json` shows it.
type jobRow struct {
	Job         string             `json:"job"`
	Func        *string            `json:"func"`
	Schedule    *string            `json:"schedule"`
	Timezone    *string            `json:"timezone"`
	Description *string            `json:"description"`
	Next        *string            `json:"next"`
	LastTick    *string            `json:"last_tick"`
	LastOutcome *scheduler.Outcome `json:"last_outcome"`
	LastReplica *string            `json:"last_replica"`
	Published   *string            `json:"published"`
	PublishedBy *string            `json:"published_by"`
	// Key is what the nodes know the job by: what it was called first.
	Key  string  `json:"key"`
	Hash *string `json:"hash"` // of this version of the job
	// Paused is why its ticks are skipped, null if they are not.
	Paused *string `json:"paused"`
	Cell   *string `json:"cell"` // that decides on it; null if there is one group of nodes
	// Live: a replica serves this version now. Drift: others serve others.
	Live  bool `json:"live"`
	Drift bool `json:"drift"`

	info scheduler.JobInfo
}

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
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				rows, err := cl.jobRows(c.Context(), time.Now())
				if err != nil {
					return err
				}
				if err := cl.markPaused(c.Context(), rows); err != nil {
					fmt.Fprintf(a.Err, "quorate: what is paused is not known: %v\n", err)
				}
				return errors.Join(jobListing(rows, time.Now()).print(a.Out, format), cl.lacking.err)
			})
		},
	}
	outputFlag(c, &format)
	c.AddCommand(a.jobsForgetCommand(f))
	return c
}

func (c cluster) jobRows(ctx context.Context, now time.Time) ([]jobRow, error) {
	names, err := c.directory(ctx)
	if err != nil {
		return nil, err
	}
	var rows []jobRow
	for _, v := range names.versions {
		row := newJobRow(v, now)
		row.Cell = c.cellOf(v.StoredAs())
		last, err := c.ledger.Ticks(ctx, scheduler.Query{Job: v.StoredAs(), Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(last) > 0 {
			row.LastTick, row.LastOutcome = stamp(last[0].Tick), optional(last[0].Outcome)
			row.LastReplica = optional(last[0].Replica)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// markPaused says of each job whether its ticks are skipped, and why.
func (c cluster) markPaused(ctx context.Context, rows []jobRow) error {
	open, err := c.acts.Open(ctx)
	for i, r := range rows {
		rows[i].Paused = optional(r.info.PausedBy(open.Pauses))
	}
	return err
}

func newJobRow(v scheduler.Version, now time.Time) jobRow {
	return jobRow{
		Job: v.Name, Func: optional(v.Func), Schedule: optional(v.Schedule), Timezone: optional(v.Timezone),
		Description: optional(v.Description), Next: nextTick(v.JobInfo, now),
		Published: stamp(v.Published), PublishedBy: optional(v.Replica),
		Key: v.StoredAs(), Hash: optional(v.Hash), Live: v.Live, Drift: v.Drift,
		info: v.JobInfo,
	}
}

// nextTick computes a published job's next tick; nil if it never ticks again,
// or if its schedule has no definition that this release can read.
func nextTick(j scheduler.JobInfo, now time.Time) *string {
	s, err := j.Ticks()
	if err != nil {
		return nil
	}
	return stamp(s.Next(now))
}

func jobListing(rows []jobRow, now time.Time) listing[jobRow] {
	return cellColumn(listing[jobRow]{
		columns: []string{"JOB", "SCHEDULE", "NEXT", "LAST TICK", "OUTCOME", "PUBLISHED", "VERSION"},
		cells: func(r jobRow) []string {
			return []string{
				clip(r.Job, 24), clip(dash(r.Schedule)+" "+dash(r.Timezone), 30), nextCell(r),
				dash(r.LastTick), dash(r.LastOutcome), ago(r.Published, now), versionCell(r),
			}
		},
		rows:  rows,
		empty: "no replica has served a job on these nodes yet",
	}, func(r jobRow) *string { return r.Cell })
}

// nextCell is the next tick, or why none will run.
func nextCell(r jobRow) string {
	switch {
	case !r.Live:
		return "not served"
	case r.Paused != nil:
		return "paused"
	}
	return dash(r.Next)
}

func versionCell(r jobRow) string {
	if r.Drift {
		return dash(r.Hash) + " *"
	}
	return dash(r.Hash)
}

func ago(at *string, now time.Time) string {
	if at == nil {
		return "-"
	}
	t, err := time.Parse(time.RFC3339Nano, *at)
	if err != nil {
		return "-"
	}
	return since(t, now) + " ago"
}
