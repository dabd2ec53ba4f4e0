package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/replica"
)

// A nextRow is one tick to come as `quorate next -o json` shows it.
type nextRow struct {
	listing.Next

	local string // in the job's zone, for the table
}

func (a App) nextCommand(f *flags) *cobra.Command {
	var format, from string
	var n int
	var excluded bool
	c := &cobra.Command{
		Use:   "next [JOB]",
		Short: "List the next ticks of a job, or of all, soonest first",
		Long: `List the next ticks of a job, or of all jobs, soonest first, from the
configuration alone: quorate pauses has what people have paused. Notes mark ticks that
a change of the clocks moves or leaves out, that jitter makes start later, and the first
and last ones of a job that starts or ends. --excluded lists what calendars take away, too.`,
		Example: `  quorate next
  quorate next nightly-report -n 3 --from 2027-03-27T00:00:00Z`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			start := time.Now()
			if from != "" {
				var err error
				if start, err = time.Parse(time.RFC3339, from); err != nil {
					return usageError{fmt.Errorf("--from %s: write a time such as 2027-01-01T00:00:00Z", from)}
				}
			}
			config, err := replica.Read(f.source(), nil)
			if err != nil {
				return err
			}
			list, err := config.JobList(nil)
			if err != nil {
				return err
			}
			rows, err := nextRows(list, args, excluded, start, n)
			if err != nil {
				return err
			}
			return nextListing(rows).print(a.Out, format)
		},
	}
	outputFlag(c, &format)
	limitFlag(c, &n, 10)
	c.Flags().BoolVar(&excluded, "excluded", false, "list also ticks that calendars take away, with a note")
	c.Flags().StringVar(&from, "from", "", "only ticks that start after this `time` (RFC 3339; default now)")
	return c
}

// nextRows merges the ticks to come of the named job, or of all.
func nextRows(list []scheduler.Job, names []string, excluded bool, from time.Time, n int) ([]nextRow, error) {
	if len(names) == 1 {
		i := slices.IndexFunc(list, func(j scheduler.Job) bool { return j.Name == names[0] })
		if i < 0 {
			return nil, fmt.Errorf("job %q %w in the configuration; quorate next without a name lists all", names[0], listing.ErrNotFound)
		}
		list = list[i : i+1]
	}
	type planned struct {
		scheduler.Planned
		job scheduler.Job
	}
	var all []planned
	for _, j := range list {
		for _, p := range j.Coming(from, n, excluded) {
			all = append(all, planned{p, j})
		}
	}
	slices.SortStableFunc(all, func(x, y planned) int {
		return cmp.Or(x.Tick.Compare(y.Tick), cmp.Compare(x.job.Name, y.job.Name))
	})
	var rows []nextRow
	for _, p := range all[:min(len(all), n)] {
		rows = append(rows, newNextRow(p.job, p.Planned))
	}
	return rows, nil
}

func newNextRow(j scheduler.Job, p scheduler.Planned) nextRow {
	row := nextRow{
		Next:  listing.NewNext(j.Name, p, j.Start(p.Tick)),
		local: p.Tick.In(zone(j)).Format("Mon 2006-01-02 15:04:05 MST"),
	}
	row.Paused = listing.Optional(scheduler.JobInfo{Name: j.Name, Paused: j.Paused}.PausedBy(nil))
	return row
}

// zone is where a job's schedule is read; its configuration was checked before.
func zone(j scheduler.Job) *time.Location {
	loc, err := scheduler.LoadZone(j.Timezone)
	if err != nil {
		return time.UTC
	}
	return loc
}

func nextListing(rows []nextRow) table[nextRow] {
	return table[nextRow]{
		columns: []string{"JOB", "TICK", "LOCAL", "NOTE"},
		cells: func(r nextRow) []string {
			return []string{r.Job, r.Tick, r.local, r.Remark()}
		},
		rows:  rows,
		empty: "no tick to come",
		below: []string{"NOTE"},
		cut:   []string{"JOB", "LOCAL"},
	}
}
