package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// A logRow is what a run logged as `quorate logs -o json` shows it.
type logRow struct {
	ID      *string           `json:"id"`
	Job     string            `json:"job"`
	Tick    string            `json:"tick"`
	Token   *locking.Token    `json:"token"`
	Attempt *int              `json:"attempt"`
	Replica *string           `json:"replica"`
	Outcome scheduler.Outcome `json:"outcome"`
	// Cut is how many bytes before the text are not kept.
	Cut  int    `json:"cut"`
	Text string `json:"text"`
}

func (a App) logsCommand(f *flags) *cobra.Command {
	var format string
	var attempt int
	c := &cobra.Command{
		Use:   "logs JOB [RUN]",
		Short: "Show what a run logged, output of exec jobs included",
		Long: `Show what the last run of a job has logged from level info on, or the run named
by its id or its tick. Output of exec jobs is part of it. It is kept when the run
has ended: the last 16 KiB, as long as the job's history keeps it.`,
		Example: `  quorate logs nightly-report
  quorate logs nightly-report 2026-12-01T02:00:00Z --attempt 1`,
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				row, err := cl.log(c.Context(), args[0], strings.Join(args[1:], ""), attempt)
				if err != nil {
					return err
				}
				return row.print(a.Out, format)
			})
		},
	}
	outputFlag(c, &format)
	c.Flags().IntVar(&attempt, "attempt", 0, "of several attempts this `one`, from 1; default the last")
	return c
}

// log finds a run, the last one that has ended by default, and its log.
func (c cluster) log(ctx context.Context, job, run string, attempt int) (logRow, error) {
	names, err := c.directory(ctx)
	if err != nil {
		return logRow{}, err
	}
	key := names.key(job)
	entries, err := c.ledger.Runs(ctx, scheduler.Query{Job: key, Limit: scheduler.MaxKeep})
	if err != nil {
		return logRow{}, err
	}
	for _, e := range entries {
		if !isRun(e, run) || attempt != 0 && e.Attempt != attempt || run == "" && e.Outcome == scheduler.Running {
			continue
		}
		log, err := c.ledger.Log(ctx, key, e.OrderKey(), e.Token)
		if errors.Is(err, scheduler.ErrNoLog) {
			return logRow{}, fmt.Errorf("log of %s %w: it logged nothing, goes on, or its log is not kept any more", e.ID(), errNotFound)
		}
		if err != nil {
			return logRow{}, err
		}
		return newLogRow(names.named([]scheduler.Entry{e})[0], log), nil
	}
	if len(entries) == 0 {
		if err := names.require(key); err != nil {
			return logRow{}, err
		}
	}
	return logRow{}, noSuchRun(job, run, attempt)
}

// noSuchRun is the error for a run that the ledger does not have.
func noSuchRun(job, run string, attempt int) error {
	what := fmt.Sprintf("no run of %s has ended", job)
	if run != "" {
		what = fmt.Sprintf("%s has no run %q", job, run)
	}
	if attempt != 0 {
		what += fmt.Sprintf(" as attempt %d", attempt)
	}
	return fmt.Errorf("%w: %s; quorate runs %s lists them", errNotFound, what, job)
}

// isRun tells whether text names the run of an entry: any, its id, or its tick.
func isRun(e scheduler.Entry, text string) bool {
	_, id, _ := strings.Cut(e.ID(), "@")
	return text == "" || strings.HasSuffix(text, "@"+id) || text == *stamp(e.Tick)
}

func newLogRow(e scheduler.Entry, log scheduler.Log) logRow {
	row := newRunRow(e)
	return logRow{
		ID: row.ID, Job: row.Job, Tick: row.Tick, Token: row.Token, Attempt: row.Attempt, Replica: row.Replica,
		Outcome: row.Outcome, Cut: log.Cut, Text: log.Text,
	}
}

// print writes the text as it is, or a JSON array of this row.
func (r logRow) print(w io.Writer, format string) error {
	if format == "json" {
		return printJSON(w, []logRow{r})
	}
	if r.Cut > 0 {
		fmt.Fprintf(w, "… (cut: %d bytes before this are not kept)\n", r.Cut)
	}
	_, err := io.WriteString(w, r.Text)
	return err
}
