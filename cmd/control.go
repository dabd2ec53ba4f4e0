package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// targetFlags adds the flags of a pause or resume, of one job, a tag, or all jobs.
func targetFlags(c *cobra.Command, command *commands.Command) {
	c.Flags().StringVar(&command.Tag, "tag", "", "all jobs with this `tag`")
	c.Flags().BoolVar(&command.All, "all", false, "all jobs of the namespace")
	authorFlags(c, command)
}

// setTarget sets the job of a pause or resume, and checks that it has one target. The ID of
// a pause is one, too.
func setTarget(command *commands.Command, args []string, id string) error {
	command.Job = strings.Join(args, "")
	targets := len(args)
	if command.Tag != "" {
		targets++
	}
	if command.All {
		targets++
	}
	switch {
	case id != "" && targets > 0:
		return failure.Usagef("--id: write it alone, without a job, --tag and --all")
	case id == "" && targets != 1:
		return failure.Usagef("name one job, or write --tag TAG or --all")
	}
	return nil
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
	cancel := commands.Command{Kind: commands.Cancel}
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
			cancel.Job = args[0]
			done, err := cl.Cancel(ctx, signed(cancel), waiting)
			for _, r := range done.Withdrawn {
				fmt.Fprintf(a.Out, "%s of %s: withdrawn\n", r.Kind, r.At)
			}
			for _, r := range done.Runs {
				fmt.Fprintf(a.Out, "run %s on %s: asked to stop, within two seconds\n", view.Text(r.ID), view.Text(r.Replica))
			}
			return err
		}),
	}
	c.Flags().StringVar(&cancel.Run, "run", "", "only the run with this `ID`")
	c.Flags().BoolVar(&waiting, "waiting", false, "also withdraw the job's pending triggers and backfills")
	authorFlags(c, &cancel)
	return c
}

func triggerCommand(a *cli) *cobra.Command {
	command := commands.Command{Kind: commands.Trigger}
	var wait bool
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
			if err := errors.Join(err, checkWithin(command.Within)); err != nil {
				return err
			}
			command.Job, command.Params = args[0], params
			return trigger(c.Context(), a, signed(command), wait)
		},
	}
	c.Flags().BoolVarP(&wait, "wait", "w", false, "wait for the run to end; exit code 1 unless it succeeded")
	c.Flags().DurationVar(&command.Within, "within", commands.DefaultWithin(commands.Trigger), "how long the run may wait for its start")
	c.Flags().StringVar(&object, "params", "", "params as a JSON `object`")
	c.Flags().StringArrayVar(&pairs, "param", nil, "a param, `key=value`; the value is JSON, such as a number, else text; may be repeated")
	authorFlags(c, &command)
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
			a.say("%s; see quorate runs %s, or quorate audit", cluster.Requested(asked, command.Job), command.Job)
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
	pause := commands.Command{Kind: commands.Pause}
	var until string
	c := &cobra.Command{
		Use:   "pause [JOB]",
		Short: "Skip the ticks of a job, of a tag, or of all jobs, for some time or until they are resumed",
		Long: `Skip the ticks of a job, of all jobs with a tag, or of all jobs, in the whole
cluster, until they are resumed. The ledger records each as skipped, with the author,
time and reason of the pause. They are not caught up later.

With --for or --until the pause ends by itself: a tick whose nominal time is the end, or
later, runs. --for counts from now, by the clock of the store. Pausing again sets another end.

Running jobs continue; quorate cancel ends them. quorate trigger still runs a paused
job. Replicas follow within two seconds, new ones before their first tick. A job is
paused while any pause covers it: its own, one of its tags, or all.`,
		Example: `  quorate pause nightly-report --reason "the bank is down"
  quorate pause nightly-report --for 2h --reason "the bank is down"
  quorate pause --tag finance --until 2027-01-04 --reason "closing of the year"
  quorate pause --all --reason "moving to another data centre" --as ops`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err = setTarget(&pause, args, ""); err != nil {
				return err
			}
			if until != "" {
				if pause.Until, err = parseTime("until", until); err != nil {
					return err
				}
			}
			if c.Flags().Changed("for") && pause.Within < time.Second {
				return failure.Usagef("--for %v: write 1s or more", pause.Within)
			}
			if pause.Reason == "" {
				return failure.Usagef(`give a reason with --reason "…": every skipped tick will have it`)
			}
			return pauseOrResume(c.Context(), a, pause, "")
		},
	}
	c.Flags().DurationVar(&pause.Within, "for", 0, "end the pause after this `duration`")
	c.Flags().StringVar(&until, "until", "", "end the pause at this `time`")
	targetFlags(c, &pause)
	return c
}

func pausesCommand(a *cli) *cobra.Command {
	return listing(a, &cobra.Command{
		Use:   "pauses",
		Short: "List the pauses in force, oldest first",
		Long: `List the pauses in force, oldest first: of jobs, of tags and of all jobs. The list
includes pauses of jobs and tags that do not exist. quorate resume --id ends any of
them. quorate jobs shows the jobs that the configuration pauses (paused: true).`,
		Example: `  quorate pauses
  quorate resume --id "$(quorate pauses -o json | jq -r '.[0].id')"`,
		RunE: listRows(a, cluster.Cluster.Pauses, pauseListing),
	})
}

func pauseListing(rows []view.Command) output.Table[view.Command] {
	return output.Table[view.Command]{
		Columns: []string{"OF", "SINCE", "UNTIL", "BY", "ID", "WHY"},
		Cells: func(r view.Command) []string {
			return []string{r.Target(), r.At, output.Dash(r.Until), output.Dash(r.By), r.ID, output.Dash(r.Reason)}
		},
		Rows:  rows,
		Empty: "there are no pauses",
		Below: []string{"WHY"},
		Cut:   []string{"OF", "BY"},
	}
}

func resumeCommand(a *cli) *cobra.Command {
	resume := commands.Command{Kind: commands.Resume}
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
			if err := setTarget(&resume, args, id); err != nil {
				return err
			}
			return pauseOrResume(c.Context(), a, resume, id)
		},
	}
	c.Flags().StringVar(&id, "id", "", "the pause with this `ID`")
	targetFlags(c, &resume)
	return c
}

// pauseOrResume requests the command, or ends the pause with the ID.
func pauseOrResume(ctx context.Context, a *cli, command commands.Command, id string) error {
	return a.withCluster(ctx, func(cl cluster.Cluster) error {
		done, err := cl.PauseOrResume(ctx, signed(command), id)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, cluster.Switched(done))
		a.warnOf(view.Text(done.Doubt))
		return nil
	})
}

func backfillCommand(a *cli) *cobra.Command {
	command := commands.Command{Kind: commands.Backfill}
	var from, to string
	var dry bool
	c := listing(a, &cobra.Command{
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
			if err := setRange(&command, from, to); err != nil {
				return err
			}
			command.Job = args[0]
			return backfill(c.Context(), a, signed(command), dry)
		},
	})
	c.Flags().StringVar(&from, "from", "", "start `time` of the range; required")
	c.Flags().StringVar(&to, "to", "", "end `time` of the range, excluded; required")
	c.Flags().BoolVar(&dry, "dry-run", false, "only print the ticks")
	c.Flags().DurationVar(&command.Within, "within", commands.DefaultWithin(commands.Backfill), "how long the last tick may wait for its start")
	c.Flags().IntVar(&command.Concurrency, "concurrency", 1, "how many `runs` of a job with overlap: allow may run at once in the cluster")
	authorFlags(c, &command)
	return c
}

// setRange sets the range of a backfill, and checks its other bounds.
func setRange(command *commands.Command, from, to string) (err error) {
	if err = checkWithin(command.Within); err != nil {
		return err
	}
	if command.Concurrency < 1 || command.Concurrency > commands.MaxConcurrency {
		return failure.Usagef("--concurrency %d: write 1 to %d", command.Concurrency, commands.MaxConcurrency)
	}
	if command.From, err = parseTime("from", from); err != nil {
		return err
	}
	command.To, err = parseTime("to", to)
	return err
}

// backfill requests a backfill, or prints its ticks.
func backfill(ctx context.Context, a *cli, command commands.Command, dry bool) error {
	return a.withCluster(ctx, func(cl cluster.Cluster) error {
		ticks, err := cl.Backfill(ctx, command, dry)
		switch {
		case err != nil:
			return err
		case dry:
			return backfillListing(command.Job, ticks).Print(a.Out, a.format)
		}
		text := fmt.Sprintf("%s: requested %s", command.Job, view.Count(len(ticks), "tick", "ticks"))
		if len(ticks) > 0 {
			text += fmt.Sprintf(", from %s to %s", *view.Stamp(ticks[0]), *view.Stamp(ticks[len(ticks)-1]))
		}
		a.say("%s; see quorate ticks %s, or quorate audit", text, command.Job)
		return nil
	})
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

func auditCommand(a *cli) *cobra.Command {
	var q view.AuditQuery
	c := listing(a, &cobra.Command{
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
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
			rows, err := cl.Audited(ctx, q)
			return printRows(a, auditListing, rows, err)
		}),
	})
	auditFlags(c, &q)
	return c
}

// auditFlags adds the filters of the audit log, named like the API's parameters.
func auditFlags(c *cobra.Command, q *view.AuditQuery) {
	limitFlag(c, &q.Limit, usualRows)
	timeFlag(c, &q.Since, "since", "only commands from this `time` on: RFC 3339")
	c.Flags().StringVar(&q.By, "by", "", "only commands whose author's name or address contains this `text`")
	c.Flags().StringVar(&q.Job, "job", "", "only commands on the job or tag with this `name`")
	choiceFlag(c, &q.Kinds, "act", "only these `kinds` of command", commands.Kinds())
	c.Flags().Func("refused", "`yes`: only refused commands; no: only the others", func(text string) error {
		switch text {
		case "yes", "no":
			q.Refused = new(text == "yes")
		case "":
		default:
			return failure.Usagef("--refused %s: write some of yes,no", text)
		}
		return nil
	})
	completeList(c, "refused", []string{"yes", "no"})
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
