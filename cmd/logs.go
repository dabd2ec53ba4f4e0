package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

func logsCommand(a *cli) *cobra.Command {
	var follow, full bool
	var attempt int
	c := listing(a, &cobra.Command{
		Use:   "logs JOB [RUN]",
		Short: "Show the log of a run, including the output of exec jobs",
		Long: `Show the log of the last run of a job that has ended, or of the run with an ID or tick.
It has the lines from level info on, and the output of exec jobs. The log of a running
run is up to 5 seconds old. The ledger keeps the last 16 KiB of a log as long as the run.
Of each line it shows the message, and the level of warnings and errors; --full shows all.`,
		Example: `  quorate logs nightly-report
  quorate logs nightly-report --follow
  quorate logs nightly-report 2026-12-01T02:00:00Z --attempt 1 --full`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			run := strings.Join(args[1:], "")
			if follow && a.format == "json" {
				return failure.Usagef("--follow: a log that grows is no JSON; leave out one of them")
			}
			if follow {
				return followLog(ctx, a, cl, args[0], run, full)
			}
			row, err := cl.Log(ctx, args[0], run, attempt)
			if err != nil {
				return err
			}
			if a.format == "json" {
				return output.JSON(a.Out, []view.Log{row})
			}
			if row.Cut > 0 {
				fmt.Fprintf(a.Out, "… (%d earlier bytes were dropped)\n", row.Cut)
			}
			return printLog(a.Out, row.Text, full)
		}),
	})
	c.Flags().IntVar(&attempt, "attempt", 0, "`number` of the attempt, from 1; default the last")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "show the latest run, ended or not, and what it logs until it ends")
	c.Flags().BoolVar(&full, "full", false, "show lines as they were written, with time, level and attributes")
	c.MarkFlagsMutuallyExclusive("follow", "attempt")
	return c
}

// printLog writes lines of a log. It escapes control characters.
func printLog(w io.Writer, text string, full bool) error {
	if !full {
		var b strings.Builder
		for _, l := range (view.Log{Text: text}).Lines() {
			if strings.HasPrefix(l.Level, "WARN") || strings.HasPrefix(l.Level, "ERROR") {
				b.WriteString(l.Level + " ")
			}
			b.WriteString(l.Text + "\n")
		}
		text = b.String()
	}
	_, err := io.WriteString(w, strings.Map(output.VisibleInLines, text))
	return err
}

// storedLate is how many more times the log of a run that has ended is asked for: its replica stores it after the
// outcome.
const storedLate = 3

// A logFollower writes what is new of a log.
type logFollower struct {
	a     *cli
	full  bool
	of    locking.Token // the attempt; another one has a log of its own
	shown int           // bytes of it
	late  int           // times that an ended run had no whole log
}

// followLog writes the log of a run, of the latest one without a run, until it has ended.
func followLog(ctx context.Context, a *cli, cl cluster.Cluster, job, run string, full bool) error {
	if run == "" {
		var err error
		if run, err = latestRun(ctx, cl, job); err != nil {
			return err
		}
	}
	if strings.Contains(run, "@") { // an ID: the job's other runs need not be read
		job = ""
	}
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	f, quiet := logFollower{a: a, full: full}, false
	for begun := false; ; begun = true {
		row, err := cl.Log(ctx, job, run, 0)
		unread := errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, cluster.ErrUnreachable)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			if ended, err := f.show(row); err != nil || ended {
				return err
			}
			quiet = false
		case begun && unread:
			if !quiet {
				a.warn("%s; trying again", failure.Lines(err)[0])
			}
			quiet = true
		case !errors.Is(err, view.ErrNotFound) || !f.mayCome(ctx, cl, run):
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// show writes what is new, and reports whether that was the end.
func (f *logFollower) show(row view.Log) (ended bool, err error) {
	ended = row.Outcome != ledger.Running
	if ended && row.AsOf != nil && f.late < storedLate { // the rest is on its way to the store
		f.late++
		ended = false
	}
	if token := *cmp.Or(row.Token, &f.of); token != f.of {
		f.shown, f.of = 0, token
	}
	if gap := row.Cut - f.shown; gap > 0 {
		fmt.Fprintf(f.a.Out, "… (%d bytes were dropped)\n", gap)
	}
	fresh := row.Text[min(len(row.Text), max(0, f.shown-row.Cut)):]
	if !ended { // the rest of a line may be on its way
		fresh = fresh[:strings.LastIndexByte(fresh, '\n')+1]
	}
	f.shown = max(f.shown, row.Cut) + len(fresh)
	err = printLog(f.a.Out, fresh, f.full)
	if ended && row.Outcome == ledger.Interrupted {
		f.a.warn("the run was interrupted; another replica may run it again")
	}
	return ended, err
}

// mayCome reports whether a log that was not found may still come: the run goes on and has logged nothing, or its
// replica stores it now.
func (f *logFollower) mayCome(ctx context.Context, cl cluster.Cluster, run string) bool {
	attempts, err := cl.Attempts(ctx, run)
	if err != nil || len(attempts) == 0 {
		return false
	}
	if attempts[0].Outcome != ledger.Running {
		f.late++
	}
	return f.late <= storedLate
}

// latestRun is the ID of the latest run of a job.
func latestRun(ctx context.Context, cl cluster.Cluster, job string) (string, error) {
	p, err := cl.Runs(ctx, view.EntryQuery{Job: job, Limit: 1})
	if err == nil && (len(p.Items) == 0 || p.Items[0].ID == nil) {
		err = fmt.Errorf("a run of %s was %w: it has not run yet, or the ledger no longer keeps one", job, view.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	return *p.Items[0].ID, nil
}
