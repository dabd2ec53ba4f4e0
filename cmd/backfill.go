package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) backfillCommand(f *flags) *cobra.Command {
	var who author
	var from, to, format string
	var dry bool
	var within time.Duration
	var concurrency int
	c := &cobra.Command{
		Use:   "backfill JOB",
		Short: "Run a job's ticks of a range of time again, or for the first time",
		Long: fmt.Sprintf(`Run a job for each tick that its schedule has in a range of the past, whether it
ran then or not. The runs see the tick of the past as theirs, and come one after
the other, oldest first, each exactly once, on whichever replica wins it. They
share the job's lock with its scheduled ticks, which go between them. Of a job
whose runs may overlap (overlap: allow) --concurrency lets several go on at once.

The replicas compute the ticks from the schedule they have. --dry-run prints
them, from what the replicas have published. One backfill has at most %d ticks; what has not begun --within
its time is in the ledger as missed. quorate cancel JOB --waiting ends it.`, scheduler.MaxBackfill),
		Example: `  quorate backfill nightly-report --from 2027-01-01 --to 2027-01-08 --dry-run
  quorate backfill nightly-report --from 2027-01-01 --to 2027-01-08 --reason "the source was wrong"`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			act := who.sign(scheduler.Act{Kind: scheduler.ActBackfill, Job: args[0], Within: within, Concurrency: concurrency})
			err := checkWithin(within)
			if err != nil {
				return err
			}
			if concurrency < 1 || concurrency > scheduler.MaxConcurrency {
				return usageError{fmt.Errorf("--concurrency %d: write 1 to %d", concurrency, scheduler.MaxConcurrency)}
			}
			if act.From, err = parseTime("from", from); err != nil {
				return err
			}
			if act.To, err = parseTime("to", to); err != nil {
				return err
			}
			if api, err := f.api(); api != nil || err != nil {
				return a.remoteBackfill(c.Context(), api, err, act, dry, format)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				return asked(a.backfill(c.Context(), cl, act, dry, format))
			})
		},
	}
	outputFlag(c, &format)
	c.Flags().StringVar(&from, "from", "", "first `time` of the range; required")
	c.Flags().StringVar(&to, "to", "", "`time` before which the range ends; required")
	c.Flags().BoolVar(&dry, "dry-run", false, "only print the ticks")
	c.Flags().DurationVar(&within, "within", scheduler.DefaultWithin(scheduler.ActBackfill), "how long the last tick may have to wait before it begins")
	c.Flags().IntVar(&concurrency, "concurrency", 1, "how many `runs` may go on at once in the whole cluster, of a job with overlap: allow")
	authorFlags(c, &who)
	return c
}

func (a App) backfill(ctx context.Context, cl cluster, act scheduler.Act, dry bool, format string) error {
	if dry {
		ticks, _, err := cl.Planned(ctx, act)
		if err != nil {
			return err
		}
		return backfillListing(act.Job, ticks).print(a.Out, format)
	}
	ticks, err := cl.Backfill(ctx, act)
	if err != nil {
		return err
	}
	a.saidBackfill(act.Job, ticks)
	return nil
}

// saidBackfill says which ticks were asked for.
func (a App) saidBackfill(job string, ticks []time.Time) {
	text := fmt.Sprintf("%s: asked for %d ticks", job, len(ticks))
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

func backfillListing(job string, ticks []time.Time) table[backfillRow] {
	l := table[backfillRow]{
		columns: []string{"JOB", "TICK"},
		cells:   func(r backfillRow) []string { return []string{r.Job, r.Tick} },
	}
	for _, t := range ticks {
		l.rows = append(l.rows, backfillRow{Job: job, Tick: *listing.Stamp(t)})
	}
	return l
}
