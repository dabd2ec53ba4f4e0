package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A nextRow is one planned tick as `quorate next -o json` shows it.
type nextRow struct {
	view.Next

	local string // in the job's zone, for the table
}

func nextCommand(a *cli) *cobra.Command {
	var from string
	var n int
	var excluded bool
	c := &cobra.Command{
		Use:   "next [JOB]",
		Short: "List the next ticks of a job, or of all jobs, soonest first",
		Long: `List the next ticks of a job, or of all jobs, soonest first. It reads only the
configuration: quorate pauses lists the pauses. Notes mark ticks that daylight saving
moves or leaves out, ticks that jitter delays, and the first and last tick of a job
with starts or ends. --excluded also lists ticks that calendars exclude.`,
		Example: `  quorate next
  quorate next nightly-report -n 3 --from 2027-03-27T00:00:00Z`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			start := time.Now()
			if from != "" {
				var err error
				if start, err = time.Parse(time.RFC3339, from); err != nil {
					return failure.Usagef("--from %s: write a time such as 2027-01-01T00:00:00Z", from)
				}
			}
			_, list, err := readJobs(a.source(), args...)
			if err != nil {
				return err
			}
			return nextListing(nextRows(list, excluded, start, n)).Print(a.Out, a.format)
		},
	}
	outputFlag(c, a)
	limitFlag(c, &n, 10)
	c.Flags().BoolVar(&excluded, "excluded", false, "also list ticks that calendars exclude, with a note")
	c.Flags().StringVar(&from, "from", "", "only ticks that start after this `time` (RFC 3339; default now)")
	return c
}

// readJobs reads the configuration and its jobs, or the one with the name.
func readJobs(source config.Source, names ...string) (*config.Config, []scheduler.Job, error) {
	source.NoStore = true
	cfg, err := config.Read(source, nil)
	if err != nil {
		return nil, nil, err
	}
	list, err := cfg.JobList(nil)
	if err != nil || len(names) == 0 {
		return cfg, list, err
	}
	list = slices.DeleteFunc(list, func(j scheduler.Job) bool { return j.Name != names[0] })
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("job %q %w in the configuration; quorate next without a name lists all", names[0], view.ErrNotFound)
	}
	return cfg, list, nil
}

// nextRows merges the next ticks of the jobs.
func nextRows(list []scheduler.Job, excluded bool, from time.Time, n int) []nextRow {
	var rows []nextRow
	for _, j := range list {
		for _, p := range j.Coming(from, n, excluded) {
			rows = append(rows, newNextRow(j, p))
		}
	}
	slices.SortStableFunc(rows, func(x, y nextRow) int {
		return cmp.Or(view.Time(&x.Tick).Compare(view.Time(&y.Tick)), cmp.Compare(x.Job, y.Job))
	})
	return rows[:min(len(rows), n)]
}

func newNextRow(j scheduler.Job, p schedule.Planned) nextRow {
	row := nextRow{
		Next:  view.NewNext(j.Name, p, j.Start(p.Tick)),
		local: p.Tick.In(zone(j)).Format("Mon 2006-01-02 15:04:05 MST"),
	}
	row.Paused = view.Optional(scheduler.JobInfo{Name: j.Name, Paused: j.Paused}.PausedBy(nil))
	return row
}

// zone is the time zone of a job's schedule, which is already validated.
func zone(j scheduler.Job) *time.Location {
	loc, err := schedule.LoadZone(j.Timezone)
	if err != nil {
		return time.UTC
	}
	return loc
}

func nextListing(rows []nextRow) output.Table[nextRow] {
	return output.Table[nextRow]{
		Columns: []string{"JOB", "TICK", "LOCAL", "NOTE"},
		Cells: func(r nextRow) []string {
			return []string{r.Job, r.Tick, r.local, r.Remark()}
		},
		Rows:  rows,
		Empty: "no ticks are planned",
		Below: []string{"NOTE"},
		Cut:   []string{"JOB", "LOCAL"},
	}
}

func explainCommand(a *cli) *cobra.Command {
	var timezone, job string
	c := &cobra.Command{
		Use:   "explain SPEC... | --job JOB",
		Short: "Explain a schedule in words",
		Long: `Explain in words when one or several schedules tick. Without a schedule it explains
that of a job in the configuration, with all settings that affect its ticks.`,
		Example: `  quorate explain "0 2 * * 1-5"
  quorate explain --timezone Europe/Paris "30 2 * * fri#2" "30 3 L * *"
  quorate explain --job nightly-report "H H(0-5) * * *"
  quorate explain --job nightly-report`,
		Args: wholeSpecs,
		RunE: func(_ *cobra.Command, specs []string) error {
			explain := func() (string, error) { return explainSpecs(specs, timezone, job) }
			if len(specs) == 0 {
				explain = func() (string, error) { return explainJob(a.source(), job) }
			}
			text, err := explain()
			if err == nil {
				fmt.Fprintln(a.Out, text)
			}
			return err
		},
	}
	c.Flags().StringVar(&job, "job", "", "`name` of the job, which determines the value of H")
	c.Flags().StringVar(&timezone, "timezone", "UTC", "time `zone` of the schedule")
	return c
}

func explainSpecs(specs []string, timezone, job string) (string, error) {
	location, err := schedule.LoadZone(timezone)
	if err != nil {
		return "", failure.Usagef("--timezone: %w", err)
	}
	var all []schedule.Schedule
	var errs []error
	for _, spec := range specs {
		s, err := schedule.Parse(spec, schedule.Options{Location: location, Name: job})
		all, errs = append(all, s), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return "", failure.Usage(err)
	}
	return schedule.Describe(schedule.Union(all...)), nil
}

// explainJob explains the schedule of a job in the configuration.
func explainJob(source config.Source, name string) (string, error) {
	cfg, list, err := readJobs(source, name)
	if err != nil {
		return "", err
	}
	text := schedule.Describe(list[0].Schedule)
	if dst, usual := cfg.Jobs[name].DST, config.DefaultPolicy().DST; dst != usual {
		text += fmt.Sprintf("; when clocks change: gap %s, overlap %s", dst.Gap, dst.Overlap)
	}
	if jitter := list[0].Jitter; jitter > 0 {
		text += fmt.Sprintf("; each tick starts less than %s later, by as much on every replica", jitter)
	}
	return text, nil
}

// wholeSpecs refuses a schedule that the shell has split.
func wholeSpecs(c *cobra.Command, args []string) error {
	torn := func(arg string) bool {
		return !strings.Contains(strings.TrimSpace(arg), " ") && !strings.HasPrefix(arg, "@")
	}
	if len(args) > 1 && slices.ContainsFunc(args, torn) {
		return fmt.Errorf("put the schedule in quotes: %q", strings.Join(args, " "))
	}
	if job := c.Flag("job"); len(args) == 0 && job.Value.String() == "" {
		return errors.New("there is no schedule: give one in quotes, or name a configured job with --job")
	}
	return nil
}
