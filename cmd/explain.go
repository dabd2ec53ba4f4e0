package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/replica"
)

func (a App) explainCommand(f *flags) *cobra.Command {
	var timezone, job string
	c := &cobra.Command{
		Use:   "explain SPEC... | --job JOB",
		Short: "Say in words when a schedule ticks",
		Long: `Say in words when a schedule ticks, or one made of several. Without a schedule
that of a job in the configuration is explained, with all that bears on it.`,
		Example: `  quorate explain "0 2 * * 1-5"
  quorate explain --timezone Europe/Paris "30 2 * * fri#2" "30 3 L * *"
  quorate explain --job nightly-report "H H(0-5) * * *"
  quorate explain --job nightly-report`,
		Args: usage(wholeSpecs),
		RunE: func(_ *cobra.Command, specs []string) error {
			explain := func() (string, error) { return explainSpecs(specs, timezone, job) }
			if len(specs) == 0 {
				explain = func() (string, error) { return explainJob(f.source(), job) }
			}
			text, err := explain()
			if err == nil {
				fmt.Fprintln(a.Out, text)
			}
			return err
		},
	}
	c.Flags().StringVar(&job, "job", "", "`name` of the job, from which H in a field is chosen")
	c.Flags().StringVar(&timezone, "timezone", "UTC", "time `zone` in which the fields are read")
	return c
}

func explainSpecs(specs []string, timezone, job string) (string, error) {
	location, err := scheduler.LoadZone(timezone)
	if err != nil {
		return "", usageError{fmt.Errorf("--timezone: %w", err)}
	}
	var all []scheduler.Schedule
	var errs []error
	for _, spec := range specs {
		s, err := scheduler.ParseSchedule(spec, scheduler.ScheduleOptions{Location: location, Name: job})
		all, errs = append(all, s), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return "", usageError{err}
	}
	return scheduler.Describe(scheduler.Union(all...)), nil
}

// explainJob explains the schedule of a job in the configuration.
func explainJob(source replica.Source, name string) (string, error) {
	config, err := replica.Read(source, nil)
	if err != nil {
		return "", err
	}
	list, err := config.JobList(nil)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(j scheduler.Job) bool { return j.Name == name })
	if i < 0 {
		return "", fmt.Errorf("job %q %w in the configuration; quorate next lists all", name, listing.ErrNotFound)
	}
	text := scheduler.Describe(list[i].Schedule)
	if dst, usual := config.Jobs[name].DST, replica.DefaultPolicy().DST; dst != usual {
		text += fmt.Sprintf("; when clocks change: gap %s, overlap %s", dst.Gap, dst.Overlap)
	}
	if jitter := list[i].Jitter; jitter > 0 {
		text += fmt.Sprintf("; each tick starts less than %s later, by as much on every replica", jitter)
	}
	return text, nil
}

// wholeSpecs refuses what a shell made of a spec without quotes.
func wholeSpecs(c *cobra.Command, args []string) error {
	torn := func(arg string) bool {
		return !strings.Contains(strings.TrimSpace(arg), " ") && !strings.HasPrefix(arg, "@")
	}
	if len(args) > 1 && slices.ContainsFunc(args, torn) {
		return fmt.Errorf("put the schedule in quotes: %q", strings.Join(args, " "))
	}
	if job := c.Flag("job"); len(args) == 0 && job.Value.String() == "" {
		return errors.New("there is no schedule to explain: give one in quotes, or --job and the name of one in the configuration")
	}
	return nil
}
