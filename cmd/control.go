package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/scheduler/commands"
)

// authorFlags adds --as and --reason to a command that acts.
func authorFlags(c *cobra.Command, a *cli) {
	c.Flags().StringVar(&a.by, "as", "", "your name in the audit log (default `user@host`)")
	c.Flags().StringVar(&a.reason, "reason", "", "reason, in a few `words`, for the audit log")
}

// sign sets the author and the reason of the command.
func (a *cli) sign(command commands.Command) commands.Command {
	command.By, command.Reason = a.by, a.reason
	if command.By == "" {
		command.By = whoami()
	}
	return command
}

// whoami returns the user and host of this process.
func whoami() string {
	name, host := os.Getenv("USER"), "unknown host"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// A target is what a pause applies to: one job, a tag, or all jobs.
type target struct {
	tag string
	all bool
}

func targetFlags(c *cobra.Command, t *target) {
	c.Flags().StringVar(&t.tag, "tag", "", "all jobs with this `tag`")
	c.Flags().BoolVar(&t.all, "all", false, "all jobs of the namespace")
}

// command returns a command on the target; args may name a job.
func (t target) command(kind commands.Kind, args []string) (commands.Command, error) {
	named := len(args)
	if t.tag != "" {
		named++
	}
	if t.all {
		named++
	}
	if named != 1 {
		return commands.Command{}, failure.Usagef("name one job, or write --tag TAG or --all")
	}
	command := commands.Command{Kind: kind, Tag: t.tag, All: t.all}
	if len(args) == 1 {
		command.Job = args[0]
	}
	return command, nil
}

// checkWithin refuses durations that the scheduler would take for the default.
func checkWithin(within time.Duration) error {
	if within < time.Second {
		return failure.Usagef("--within %v: write 1s or more", within)
	}
	return nil
}

// parseTime parses a time flag: RFC 3339, or a date, which means midnight UTC.
func parseTime(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, failure.Usagef("--%s %q: write a time such as 2027-01-01T00:00:00Z, or a date", flag, text)
}

func cancelCommand(a *cli) *cobra.Command {
	var run string
	var waiting bool
	c := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Cancel the running run of a job, on any replica",
		Long: `Cancel the running run of a job, on any replica: its context ends with cause
jobs.ErrCancelled. When the function has returned, the ledger records the run as
cancelled, with your name and the reason. A function that ignores its context
continues; quorate locks release takes its lock away.

--waiting also withdraws the job's pending triggers and backfills. Exit code 3 if
there is nothing to cancel.`,
		Example: `  quorate cancel nightly-report --reason "wrong data"
  quorate cancel nightly-report --run nightly-report@20270101T020000.000Z
  quorate cancel nightly-report --waiting --reason "the backfill is not needed"`,
		Args: cobra.ExactArgs(1),
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			done, err := cl.Cancel(ctx, a.sign(commands.Command{Kind: commands.Cancel, Job: args[0], Run: run}), waiting)
			for _, r := range done.Withdrawn {
				fmt.Fprintf(a.Out, "%s of %s: withdrawn\n", r.Kind, r.At)
			}
			for _, r := range done.Runs {
				fmt.Fprintf(a.Out, "run %s on %s: asked to stop, within two seconds\n", view.Text(r.ID), view.Text(r.Replica))
			}
			return err
		}),
	}
	c.Flags().StringVar(&run, "run", "", "only the run with this `ID`")
	c.Flags().BoolVar(&waiting, "waiting", false, "also withdraw the job's pending triggers and backfills")
	authorFlags(c, a)
	return c
}

func triggerCommand(a *cli) *cobra.Command {
	var wait bool
	var within time.Duration
	var object string
	var pairs []string
	c := &cobra.Command{
		Use:   "trigger JOB",
		Short: "Run a job once, now, on one of the replicas",
		Long: `Run a job once, now, on one of the replicas: exactly once, even if replicas restart
meanwhile, and even if the job is paused. The run waits for a running run of the job
to end, for --within at most. If it cannot start by then, the ledger records it as
missed.

Params override the configured params, key by key. Params that the function does not
accept are refused if this binary, or the replica behind --server, has the function.
Otherwise the run fails and says why. The built-in exec and http accept none.

With --wait the command waits for the run to end and prints its row. The exit code is
0 if it succeeded, 1 if not.`,
		Example: `  quorate trigger nightly-report --reason "yesterday's failed"
  quorate trigger nightly-report --param customer=acme --param copies=2 --wait
  quorate trigger nightly-report --params '{"customer": "acme"}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			params, err := readParams(object, pairs)
			if err := errors.Join(err, checkWithin(within)); err != nil {
				return err
			}
			command := a.sign(commands.Command{Kind: commands.Trigger, Job: args[0], Within: within, Params: params})
			return trigger(c.Context(), a, command, wait)
		},
	}
	c.Flags().BoolVarP(&wait, "wait", "w", false, "wait for the run to end; exit code 1 unless it succeeded")
	c.Flags().DurationVar(&within, "within", commands.DefaultWithin(commands.Trigger), "how long the run may wait for its start")
	c.Flags().StringVar(&object, "params", "", "params as a JSON `object`")
	c.Flags().StringArrayVar(&pairs, "param", nil, "a param, `key=value`; the value is JSON, such as a number, else text; may be repeated")
	authorFlags(c, a)
	return c
}

// trigger requests a run, and may wait for it to end.
func trigger(ctx context.Context, a *cli, command commands.Command, wait bool) error {
	return a.withCluster(ctx, func(cl cluster.Cluster) error {
		asked, err := cl.Trigger(ctx, command)
		if err != nil {
			return err
		}
		if !wait {
			a.say("%s: requested run %s; see quorate runs %s, or quorate audit", command.Job, cluster.RunID(asked, command.Job), command.Job)
			return nil
		}
		row, err := cl.Wait(ctx, asked, command.Job)
		if row == nil {
			return err
		}
		return printRows(a, runTable, []view.Run{*row}, err)
	})
}

// readParams combines the params of the flags, nil if there are none.
func readParams(object string, pairs []string) (json.RawMessage, error) {
	params := map[string]json.RawMessage{} // numbers keep all their digits
	if object != "" {
		if err := json.Unmarshal([]byte(object), &params); err != nil || params == nil {
			return nil, failure.Usagef(`--params %s: write a JSON object such as '{"customer": "acme"}'`, object)
		}
		if len(pairs) == 0 {
			return json.RawMessage(object), nil // as it is written
		}
	}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, failure.Usagef("--param %s: write key=value", pair)
		}
		value := json.RawMessage(text)
		if !json.Valid(value) {
			value, _ = plainjson.Marshal(text) // a string always encodes
		}
		params[key] = value
	}
	if len(params) == 0 {
		return nil, nil
	}
	text, err := plainjson.Marshal(params)
	if err != nil {
		return nil, failure.Usagef("--param: %w", err)
	}
	return text, nil
}

func pauseCommand(a *cli) *cobra.Command {
	var what target
	c := &cobra.Command{
		Use:   "pause [JOB]",
		Short: "Skip the ticks of a job, of a tag, or of all jobs, until they are resumed",
		Long: `Skip the ticks of a job, of all jobs with a tag, or of all jobs, in the whole
cluster, until they are resumed. The ledger records each as skipped, with the author,
time and reason of the pause. They are not caught up later.

Running jobs continue; quorate cancel ends them. quorate trigger still runs a paused
job. Replicas follow within two seconds, new ones before their first tick. A job is
paused while any pause covers it: its own, one of its tags, or all.`,
		Example: `  quorate pause nightly-report --reason "the bank is down"
  quorate pause --tag finance --reason "closing of the year"
  quorate pause --all --reason "moving to another data centre" --as ops`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			command, err := what.command(commands.Pause, args)
			if err != nil {
				return err
			}
			if a.reason == "" {
				return failure.Usagef(`give a reason with --reason "…": every skipped tick will have it`)
			}
			return pauseOrResume(c.Context(), a, command, "")
		},
	}
	targetFlags(c, &what)
	authorFlags(c, a)
	return c
}

func pausesCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "pauses",
		Short: "List the pauses in force, oldest first",
		Long: `List the pauses in force, oldest first: of jobs, of tags and of all jobs. The list
includes pauses of jobs and tags that do not exist. quorate resume --id ends any of
them. quorate jobs shows the jobs that the configuration pauses (paused: true).`,
		Example: `  quorate pauses
  quorate resume --id "$(quorate pauses -o json | jq -r '.[0].id')"`,
		RunE: listRows(a, cluster.Cluster.Pauses, pauseListing),
	}
	outputFlag(c, a)
	return c
}

func pauseListing(rows []view.Command) output.Table[view.Command] {
	return output.Table[view.Command]{
		Columns: []string{"OF", "SINCE", "BY", "ID", "WHY"},
		Cells: func(r view.Command) []string {
			return []string{r.Target(), r.At, output.Dash(r.By), r.ID, output.Dash(r.Reason)}
		},
		Rows:  rows,
		Empty: "there are no pauses",
		Below: []string{"WHY"},
		Cut:   []string{"OF", "BY"},
	}
}

func resumeCommand(a *cli) *cobra.Command {
	var what target
	var id string
	c := &cobra.Command{
		Use:   "resume [JOB]",
		Short: "End a pause: of a job, of a tag, of all jobs, or by its ID",
		Long: `End the pause of a job, of a tag, or of all jobs. Each form ends only that pause: a
job stays paused while one of its tags is. To resume a job with paused: true, change
the configuration. --id ends the pause with an ID from quorate pauses.`,
		Example: `  quorate resume nightly-report
  quorate resume --tag finance --reason "the books are closed"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if id != "" {
				if len(args) > 0 || what.tag != "" || what.all {
					return failure.Usagef("--id: write it alone, without a job, --tag and --all")
				}
				return pauseOrResume(c.Context(), a, commands.Command{Kind: commands.Resume}, id)
			}
			command, err := what.command(commands.Resume, args)
			if err != nil {
				return err
			}
			return pauseOrResume(c.Context(), a, command, "")
		},
	}
	c.Flags().StringVar(&id, "id", "", "the pause with this `ID`")
	targetFlags(c, &what)
	authorFlags(c, a)
	return c
}

// pauseOrResume requests the command, or ends the pause with the ID.
func pauseOrResume(ctx context.Context, a *cli, command commands.Command, id string) error {
	return a.withCluster(ctx, func(cl cluster.Cluster) error {
		done, err := cl.PauseOrResume(ctx, a.sign(command), id)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%s: %sd by %s; replicas follow within two seconds\n", done.Command.Target(), command.Kind, view.Text(done.Command.By))
		a.warnOf(view.Text(done.Doubt))
		return nil
	})
}

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
after --within are recorded as missed. quorate cancel JOB --waiting withdraws it.`, commands.MaxBackfill),
		Example: `  quorate backfill nightly-report --from 2027-01-01 --to 2027-01-08 --dry-run
  quorate backfill nightly-report --from 2027-01-01 --to 2027-01-08 --reason "the source was wrong"`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			command, err := of.command()
			if err != nil {
				return err
			}
			command = a.sign(command)
			command.Job = args[0]
			return a.withCluster(c.Context(), func(cl cluster.Cluster) error {
				ticks, err := cl.Backfill(c.Context(), command, of.dry)
				switch {
				case err != nil:
					return err
				case of.dry:
					return backfillListing(command.Job, ticks).Print(a.Out, a.format)
				}
				text := fmt.Sprintf("%s: requested %s", command.Job, view.Count(len(ticks), "tick", "ticks"))
				if len(ticks) > 0 {
					text += fmt.Sprintf(", from %s to %s", *view.Stamp(ticks[0]), *view.Stamp(ticks[len(ticks)-1]))
				}
				a.say("%s; see quorate ticks %s, or quorate audit", text, command.Job)
				return nil
			})
		},
	}
	outputFlag(c, a)
	c.Flags().StringVar(&of.from, "from", "", "start `time` of the range; required")
	c.Flags().StringVar(&of.to, "to", "", "end `time` of the range, excluded; required")
	c.Flags().BoolVar(&of.dry, "dry-run", false, "only print the ticks")
	c.Flags().DurationVar(&of.within, "within", commands.DefaultWithin(commands.Backfill), "how long the last tick may wait for its start")
	c.Flags().IntVar(&of.concurrency, "concurrency", 1, "how many `runs` of a job with overlap: allow may run at once in the cluster")
	authorFlags(c, a)
	return c
}

// command returns the command that the flags stand for, without a job and an author.
func (of backfilling) command() (commands.Command, error) {
	command := commands.Command{Kind: commands.Backfill, Within: of.within, Concurrency: of.concurrency}
	err := checkWithin(of.within)
	if err != nil {
		return command, err
	}
	if of.concurrency < 1 || of.concurrency > commands.MaxConcurrency {
		return command, failure.Usagef("--concurrency %d: write 1 to %d", of.concurrency, commands.MaxConcurrency)
	}
	if command.From, err = parseTime("from", of.from); err != nil {
		return command, err
	}
	command.To, err = parseTime("to", of.to)
	return command, err
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

// An auditing holds the flags of the audit log.
type auditing struct {
	since, by, job, refused string
	commands                []string
	limit                   int
}

func auditCommand(a *cli) *cobra.Command {
	var of auditing
	c := &cobra.Command{
		Use:   "audit",
		Short: "List the commands on the cluster, newest first: who, why, and the result",
		Long: `List the commands on the cluster, newest first: triggers, backfills, cancels, pauses,
resumes and releases, with author, reason and result. RESULT is - for a pending
request, and for pauses and resumes. The list includes commands that were refused because
their author lacked the role. The store keeps at least the last 1000 commands, and the
last 200 refused ones.`,
		Example: `  quorate audit
  quorate audit --by ann --since 24h
  quorate audit --job nightly-report --act pause,resume
  quorate audit --refused yes -o json | jq -r '.[].by'`,
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := of.query(time.Now())
			if err != nil {
				return err
			}
			return a.withCluster(c.Context(), func(cl cluster.Cluster) error {
				rows, err := cl.Audited(c.Context(), q)
				return printRows(a, auditListing, rows, err)
			})
		},
	}
	outputFlag(c, a)
	limitFlag(c, &of.limit, usualRows)
	auditFlags(c, &of)
	return c
}

// auditFlags adds the filters of the audit log, named like the API's parameters.
func auditFlags(c *cobra.Command, of *auditing) {
	flags := c.Flags()
	flags.StringVar(&of.since, "since", "", "only commands from this `time` on: RFC 3339, or an age (24h)")
	flags.StringVar(&of.by, "by", "", "only commands whose author's name or address contains this `text`")
	flags.StringVar(&of.job, "job", "", "only commands on the job or tag with this `name`")
	listFlag(c, &of.commands, "act", "only these `kinds` of command", commands.Kinds())
	flags.StringVar(&of.refused, "refused", "", "`yes`: only refused commands; no: only the others")
	completeList(c, "refused", yesNo())
}

// query returns the query that the flags stand for.
func (of auditing) query(now time.Time) (view.AuditQuery, error) {
	q := view.AuditQuery{Limit: of.limit, By: of.by, Job: of.job}
	var err error
	if q.Since, err = instant("--since", of.since, now); err != nil {
		return q, err
	}
	if q.Kinds, err = chosen("--act", of.commands, commands.Kinds()); err != nil {
		return q, err
	}
	if of.refused != "" {
		_, err = chosen("--refused", []string{of.refused}, yesNo())
		q.Refused = new(of.refused == "yes")
	}
	return q, err
}

func auditListing(rows []view.Command) output.Table[view.Command] {
	return output.Table[view.Command]{
		Columns: []string{"AT", "ACT", "OF", "BY", "RESULT", "WHY"},
		Cells: func(r view.Command) []string {
			return []string{r.At, string(r.Kind), r.Target(), output.Dash(r.By), output.Dash(r.Result), output.Dash(r.Reason)}
		},
		Rows:  rows,
		Empty: "no commands, or none that match",
		Below: []string{"RESULT", "WHY"},
		Cut:   []string{"OF", "BY"},
	}
}

func yesNo() []string { return []string{"yes", "no"} }
