package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler/acts"
)

func (a App) backfillCommand(f *flags) *cobra.Command {
	var who author
	var from, to, format string
	var dry bool
	var within time.Duration
	var concurrency int
	c := &cobra.Command{
		Use:   "backfill JOB",
		Short: "Run a job for each tick of a past range of time, whether it ran then or not",
		Long: fmt.Sprintf(`Run a job for each tick that its schedule has in a past range of time, whether it
ran then or not. Each run gets the past tick as its tick. The runs follow one
another, oldest first, each exactly once, on any replica. They share the job's lock
with its scheduled ticks, which run in between. For a job with overlap: allow,
--concurrency lets several run at once.

The replicas compute the ticks from their schedule. --dry-run prints them, from the
published schedule. One backfill has at most %d ticks. Ticks that have not started
after --within are recorded as missed. quorate cancel JOB --waiting withdraws it.`, acts.MaxBackfill),
		Example: `  quorate backfill nightly-report --from 2027-01-01 --to 2027-01-08 --dry-run
  quorate backfill nightly-report --from 2027-01-01 --to 2027-01-08 --reason "the source was wrong"`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			act := who.sign(acts.Act{Kind: acts.Backfill, Job: args[0], Within: within, Concurrency: concurrency})
			err := checkWithin(within)
			if err != nil {
				return err
			}
			if concurrency < 1 || concurrency > acts.MaxConcurrency {
				return failure.Usagef("--concurrency %d: write 1 to %d", concurrency, acts.MaxConcurrency)
			}
			if act.From, err = parseTime("from", from); err != nil {
				return err
			}
			if act.To, err = parseTime("to", to); err != nil {
				return err
			}
			return a.withCluster(c.Context(), f, func(cl cluster.Cluster) error {
				ticks, err := cl.Backfill(c.Context(), act, dry)
				switch {
				case err != nil:
					return err
				case dry:
					return backfillListing(act.Job, ticks).Print(a.Out, format)
				}
				a.printBackfill(act.Job, ticks)
				return nil
			})
		},
	}
	outputFlag(c, &format)
	c.Flags().StringVar(&from, "from", "", "start `time` of the range; required")
	c.Flags().StringVar(&to, "to", "", "end `time` of the range, excluded; required")
	c.Flags().BoolVar(&dry, "dry-run", false, "only print the ticks")
	c.Flags().DurationVar(&within, "within", acts.DefaultWithin(acts.Backfill), "how long the last tick may wait for its start")
	c.Flags().IntVar(&concurrency, "concurrency", 1, "how many `runs` of a job with overlap: allow may run at once in the cluster")
	authorFlags(c, &who)
	return c
}

// printBackfill prints the requested ticks.
func (a App) printBackfill(job string, ticks []time.Time) {
	text := fmt.Sprintf("%s: requested %s", job, listing.Count(len(ticks), "tick", "ticks"))
	if len(ticks) > 0 {
		text += fmt.Sprintf(", from %s to %s", *listing.Stamp(ticks[0]), *listing.Stamp(ticks[len(ticks)-1]))
	}
	a.say("%s; see quorate ticks %s, or quorate audit", text, job)
}

// A backfillRow is one tick that a backfill would run.
type backfillRow struct {
	Job  string `json:"job"`
	Tick string `json:"tick"`
}

func backfillListing(job string, ticks []time.Time) output.Table[backfillRow] {
	l := output.Table[backfillRow]{
		Columns: []string{"JOB", "TICK"},
		Cells:   func(r backfillRow) []string { return []string{r.Job, r.Tick} },
	}
	for _, t := range ticks {
		l.Rows = append(l.Rows, backfillRow{Job: job, Tick: *listing.Stamp(t)})
	}
	return l
}
