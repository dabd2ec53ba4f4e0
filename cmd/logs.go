package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) logsCommand(f *flags) *cobra.Command {
	var format string
	var attempt int
	c := &cobra.Command{
		Use:   "logs JOB [RUN]",
		Short: "Show what a run logged, output of exec jobs included",
		Long: `Show what the last run of a job has logged from level info on, or the run named
by its id or its tick. Output of exec jobs is part of it. Of a run that goes on it
is what was logged up to 5 seconds ago. It is kept when the run has ended: the last
16 KiB, as long as the job's history keeps it.`,
		Example: `  quorate logs nightly-report
  quorate logs nightly-report 2026-12-01T02:00:00Z --attempt 1`,
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, args []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return a.remoteLog(c.Context(), api, err, args, attempt, format)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				row, err := cl.Log(c.Context(), args[0], strings.Join(args[1:], ""), attempt)
				if err != nil {
					return err
				}
				return printLog(a.Out, row, format)
			})
		},
	}
	outputFlag(c, &format)
	c.Flags().IntVar(&attempt, "attempt", 0, "of several attempts this `one`, from 1; default the last")
	return c
}

// printLog writes the text, or a JSON array of this row. What would do something to
// the terminal instead of being seen is not passed on.
func printLog(w io.Writer, r listing.Log, format string) error {
	if format == "json" {
		return printJSON(w, []listing.Log{r})
	}
	if r.Cut > 0 {
		fmt.Fprintf(w, "… (cut: %d bytes before this are not kept)\n", r.Cut)
	}
	_, err := io.WriteString(w, strings.Map(visibleInLines, r.Text))
	return err
}
