package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/acts"
)

// A backfilling holds the flags of a backfill.
type backfilling struct {
	from, to    string
	within      time.Duration
	concurrency int
	dry         bool
}

func backfillCommand(a *cli) *cobra.Command {
	var of backfilling
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
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			act, err := of.act()
			if err != nil {
				return err
			}
			act = a.sign(act)
			act.Job = args[0]
			return a.withCluster(c.Context(), func(cl cluster.Cluster) error {
				ticks, err := cl.Backfill(c.Context(), act, of.dry)
				switch {
				case err != nil:
					return err
				case of.dry:
					return backfillListing(act.Job, ticks).Print(a.Out, a.format)
				}
				printBackfill(a, act.Job, ticks)
				return nil
			})
		},
	}
	outputFlag(c, a)
	c.Flags().StringVar(&of.from, "from", "", "start `time` of the range; required")
	c.Flags().StringVar(&of.to, "to", "", "end `time` of the range, excluded; required")
	c.Flags().BoolVar(&of.dry, "dry-run", false, "only print the ticks")
	c.Flags().DurationVar(&of.within, "within", acts.DefaultWithin(acts.Backfill), "how long the last tick may wait for its start")
	c.Flags().IntVar(&of.concurrency, "concurrency", 1, "how many `runs` of a job with overlap: allow may run at once in the cluster")
	authorFlags(c, a)
	return c
}

// act returns the act that the flags stand for, without a job and an author.
func (of backfilling) act() (acts.Act, error) {
	act := acts.Act{Kind: acts.Backfill, Within: of.within, Concurrency: of.concurrency}
	err := checkWithin(of.within)
	if err != nil {
		return act, err
	}
	if of.concurrency < 1 || of.concurrency > acts.MaxConcurrency {
		return act, failure.Usagef("--concurrency %d: write 1 to %d", of.concurrency, acts.MaxConcurrency)
	}
	if act.From, err = parseTime("from", of.from); err != nil {
		return act, err
	}
	act.To, err = parseTime("to", of.to)
	return act, err
}

// printBackfill prints the requested ticks.
func printBackfill(a *cli, job string, ticks []time.Time) {
	text := fmt.Sprintf("%s: requested %s", job, view.Count(len(ticks), "tick", "ticks"))
	if len(ticks) > 0 {
		text += fmt.Sprintf(", from %s to %s", *view.Stamp(ticks[0]), *view.Stamp(ticks[len(ticks)-1]))
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
		l.Rows = append(l.Rows, backfillRow{Job: job, Tick: *view.Stamp(t)})
	}
	return l
}
