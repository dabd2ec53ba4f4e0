package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config/crontab"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/schedule"
)

func importCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:     "import",
		Short:   "Write a configuration from what other schedulers use",
		Example: "  quorate import crontab mycrontab > config.yaml",
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(importCrontabCommand(a))
	return c
}

func importCrontabCommand(a *cli) *cobra.Command {
	var opts crontab.Options
	c := &cobra.Command{
		Use:   "crontab FILE",
		Short: "Write a configuration from a crontab",
		Long: `Write a config.yaml with a job for each line of a crontab; FILE - is standard input.
Comments become descriptions. Lines that cannot keep their meaning are left out and
named on standard error, with what to do; then the exit code is 1. A crontab with
mistakes, or that crons read in different ways, is refused as a whole,
file:line:column, with exit code 2. So is one whose commands begin with a user,
unless you say with --system or --system=false what the word is.`,
		Example: `  crontab -l | quorate import crontab - --timezone Europe/Paris > config.yaml
  quorate import crontab /etc/cron.d/certbot --timezone UTC`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := schedule.LoadZone(opts.Timezone); err != nil {
				return failure.Usagef("--timezone: %w", err)
			}
			if !c.Flags().Changed("timezone") {
				a.warn("schedules are in UTC; cron took the zone of its machine: name it with --timezone")
			}
			if !c.Flags().Changed("system") {
				opts.System, opts.IsUser = isSystem(args[0]), isUser
			}
			return importCrontab(a, args[0], opts)
		},
	}
	c.Flags().BoolVar(&opts.System, "system", false, "each line names a user after the schedule (default for /etc/crontab and /etc/cron.d)")
	c.Flags().StringVar(&opts.Timezone, "timezone", "UTC", "time `zone` of the machine that cron ran on")
	return c
}

// importCrontab converts the file, and fails if a job was left out.
func importCrontab(a *cli, file string, opts crontab.Options) error {
	text, err := readInput(a.In, file)
	if err != nil {
		return fmt.Errorf("reading the crontab: %w", err)
	}
	if opts.File = file; file == "-" {
		opts.File = "standard input"
	}
	result, err := crontab.Import(string(text), opts)
	if err != nil {
		return err
	}
	for _, n := range result.Notes {
		fmt.Fprintln(a.Err, n)
	}
	if result.Jobs == 0 {
		return errors.New("the crontab has no line to convert: there is nothing to write")
	}
	if _, err := a.Out.Write(result.YAML); err != nil || result.LeftOut == 0 {
		return err
	}
	return fmt.Errorf("%s left out: read the notes above", view.Count(result.LeftOut, "job was", "jobs were"))
}

// isSystem reports whether the lines of a crontab name users, by its place.
func isSystem(file string) bool {
	path, err := filepath.Abs(file)
	return err == nil && (path == "/etc/crontab" || filepath.Dir(path) == "/etc/cron.d")
}

// usualUsers are those of many machines that this one may lack.
var usualUsers = []string{"root", "www-data", "apache", "nginx", "nobody", "daemon", "postgres", "mysql", "redis", "ubuntu", "ec2-user"}

func isUser(word string) bool {
	_, err := user.Lookup(word)
	return err == nil || slices.Contains(usualUsers, word)
}

func readInput(in io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}
