package cmd

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/config/crontab"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

func validateCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "validate",
		Short: "Report every mistake in the configuration, file:line:column",
		Long: `Report every mistake in the configuration, file:line:column, and start nothing. Exit
code 2 if there is a mistake. Settings that are allowed but unlikely print a warning.
References such as ${file:/run/secrets/redis} need not resolve, so you can validate
where the secrets are absent: those of webhooks and params then print a warning.`,
		Example: "  quorate validate --config prod.yaml",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := config.Read(a.source(), a.Registry)
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings() {
				fmt.Fprintln(a.Err, w)
			}
			kept, means := config.Kept(cfg)
			fmt.Fprintf(a.Out, "the configuration is valid: %s, %s\n", view.Count(len(cfg.Jobs), "job", "jobs"), kept)
			if means != "" {
				output.Remark(a.Out, kept, means)
			}
			return nil
		},
	}
}

func schemaCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of config.yaml",
		Long: `Print the JSON schema of config.yaml. Editors with YAML support use it if the file
begins with
  # yaml-language-server: $schema=quorate.schema.json`,
		Example: "  quorate schema > quorate.schema.json",
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			out := json.NewEncoder(a.Out)
			out.SetIndent("", "  ")
			return out.Encode(schema)
		},
	}
}

// A nextRow is one planned tick as `quorate next -o json` shows it.
type nextRow struct {
	view.Next

	local string // in the job's zone, for the table
}

func nextCommand(a *cli) *cobra.Command {
	var from string
	var n int
	var excluded bool
	c := listing(a, &cobra.Command{
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
			_, list, err := a.readJobs(args...)
			if err != nil {
				return err
			}
			return nextListing(nextRows(list, excluded, start, n)).Print(a.Out, a.format)
		},
	})
	limitFlag(c, &n, 10)
	c.Flags().BoolVar(&excluded, "excluded", false, "also list ticks that calendars exclude, with a note")
	c.Flags().StringVar(&from, "from", "", "only ticks that start after this `time` (RFC 3339; default now)")
	return c
}

// readJobs reads the configuration and its jobs, or the one with the name.
func (a *cli) readJobs(names ...string) (*config.Config, []jobs.Job, error) {
	cfg, err := config.Read(a.noStore(), nil)
	if err != nil {
		return nil, nil, err
	}
	list, err := cfg.JobList(nil)
	if err != nil || len(names) == 0 {
		return cfg, list, err
	}
	list = slices.DeleteFunc(list, func(j jobs.Job) bool { return j.Name != names[0] })
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("job %q %w in the configuration; quorate next without a name lists all", names[0], view.ErrNotFound)
	}
	return cfg, list, nil
}

// nextRows merges the next ticks of the jobs.
func nextRows(list []jobs.Job, excluded bool, from time.Time, n int) []nextRow {
	var rows []nextRow
	for _, j := range list {
		info := roster.JobInfo{Name: j.Name, Key: j.Key, Jitter: j.Jitter, Paused: j.Paused}
		for _, p := range info.Coming(j.Schedule, from, n, excluded) {
			rows = append(rows, nextRow{
				Next:  view.NewNext(j.Name, p, info.Start(j.Schedule, p.Tick)),
				local: p.Tick.In(zone(j)).Format("Mon 2006-01-02 15:04:05 MST"),
			})
			rows[len(rows)-1].Paused = view.Optional(info.PausedBy(nil, time.Time{}))
		}
	}
	slices.SortStableFunc(rows, func(x, y nextRow) int {
		return cmp.Or(view.Time(&x.Tick).Compare(view.Time(&y.Tick)), cmp.Compare(x.Job, y.Job))
	})
	return rows[:min(len(rows), n)]
}

// zone is the time zone of a job's schedule, which is already validated.
func zone(j jobs.Job) *time.Location {
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
			text, err := explain(a, specs, timezone, job)
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

// explain explains the schedules or, without any, that of the job.
func explain(a *cli, specs []string, timezone, job string) (string, error) {
	if len(specs) == 0 {
		return explainJob(a, job)
	}
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
		return "", failure.Usagef("%w", err)
	}
	return schedule.Describe(schedule.Union(all...)), nil
}

// explainJob explains the schedule of a job in the configuration.
func explainJob(a *cli, name string) (string, error) {
	cfg, list, err := a.readJobs(name)
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
	opts.File = file
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		opts.File = "standard input"
		read = func() ([]byte, error) { return io.ReadAll(a.In) }
	}
	text, err := read()
	if err != nil {
		return fmt.Errorf("reading the crontab: %w", err)
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

func usersCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "users",
		Short: "Create the secrets with which users log in to the API and the dashboard",
		Long: `Create the secrets with which users log in to the API and the dashboard. The
configuration keeps them hashed only, under http.users or in http.users_file:

  http:
    users:
      ann: {role: operator, password: "pbkdf2-sha256$…"}
      deploy: {role: admin, token: "sha256$…"}`,
		Example: `  quorate users token
  quorate users password`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(usersTokenCommand(a), usersPasswordCommand(a))
	return c
}

func usersTokenCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "token",
		Short: "Create a token for a program, and print it with its hash",
		Long: `Create a random token and print two lines: the token, which the program sends as
Authorization: Bearer TOKEN, and its hash for the configuration. The token is shown
once and cannot be recovered from the hash.`,
		Example: `  quorate users token`,
		RunE: func(*cobra.Command, []string) error {
			token, stored := gate.NewToken()
			fmt.Fprintf(a.Out, "token:         %s\nconfiguration: %s\n", token, stored)
			return nil
		},
	}
}

func usersPasswordCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "password",
		Short: "Read a password, and print its hash for the configuration",
		Long: fmt.Sprintf(`Read a password of %d characters or more, from the terminal or as the first line of
standard input, and print its hash for the configuration.`, gate.MinPassword),
		Example: `  quorate users password
  pass show quorate | quorate users password`,
		RunE: func(*cobra.Command, []string) error {
			password, err := readPassword(a.In, a.Err)
			if err != nil {
				return err
			}
			stored, err := gate.HashPassword(password)
			if err != nil {
				return failure.Usagef("%w", err)
			}
			fmt.Fprintln(a.Out, stored)
			return nil
		},
	}
}

// readPassword reads a password, without echo on a terminal.
func readPassword(in io.Reader, ask io.Writer) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(ask, "Password: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(ask)
		return string(text), err
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the password: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}
