package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
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
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				return a.backfill(c.Context(), f, cl, act, dry, format)
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

func (a App) backfill(ctx context.Context, f *flags, cl cluster, act scheduler.Act, dry bool, format string) error {
	name := act.Job
	names, err := cl.directory(ctx)
	if err != nil {
		return err
	}
	act.Job = names.key(name)
	if err := names.require(act.Job); err != nil {
		return err
	}
	schedule, ok := a.served(f, names.last[act.Job].JobInfo)
	if !ok {
		return fmt.Errorf("the schedule of %s is too long to be published: use the configuration of the replicas with --config", name)
	}
	upToNow := act
	if upToNow.At = time.Now(); !act.From.Before(act.To) || !act.From.Before(upToNow.At) {
		return usageError{fmt.Errorf("from %s to %s: write a range of the past, the end after the start", *stamp(act.From), *stamp(act.To))}
	}
	switch ticks := upToNow.Backfill(schedule); {
	case len(ticks) > scheduler.MaxBackfill:
		return usageError{fmt.Errorf("the range has more than %d ticks of %s: ask for parts of it", scheduler.MaxBackfill, name)}
	case len(ticks) == 0:
		return fmt.Errorf("the schedule of %s has no ticks in that range", name)
	case dry:
		return backfillListing(name, ticks).print(a.Out, format)
	default:
		if _, err := cl.do(ctx, act); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s: asked for %d ticks, from %s to %s; see quorate ticks %s, or quorate audit\n",
			name, len(ticks), *stamp(ticks[0]), *stamp(ticks[len(ticks)-1]), name)
		return nil
	}
}

// A backfillRow is one tick that a backfill would run.
type backfillRow struct {
	Job  string `json:"job"`
	Tick string `json:"tick"`
}

func backfillListing(job string, ticks []time.Time) listing[backfillRow] {
	l := listing[backfillRow]{
		columns: []string{"JOB", "TICK"},
		cells:   func(r backfillRow) []string { return []string{clip(r.Job, 24), r.Tick} },
	}
	for _, t := range ticks {
		l.rows = append(l.rows, backfillRow{Job: job, Tick: *stamp(t)})
	}
	return l
}
