package api

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

// Texts in bodies with a schema of their own.
type (
	reason        string
	releaseReason string // of a forced release
	duration      string
	instant       string
)

func (d duration) value() time.Duration {
	v, _ := time.ParseDuration(string(d)) // its schema was checked
	return v
}

func (i instant) value() time.Time {
	at, _ := time.Parse(time.RFC3339, string(i)) // its schema was checked
	return at.UTC()
}

// Bodies of commands.
type (
	reasonBody struct {
		Reason reason `json:"reason"`
	}
	triggerBody struct {
		Reason reason          `json:"reason"`
		Params json.RawMessage `json:"params,omitempty"`
		Within duration        `json:"within,omitempty" jsonschema:"How long the run may wait for its start; default: 1h."`
	}
	backfillBody struct {
		Reason      reason   `json:"reason"`
		From        instant  `json:"from" jsonschema:"Start of the range."`
		To          instant  `json:"to" jsonschema:"End of the range, excluded."`
		Within      duration `json:"within,omitempty" jsonschema:"How long the last tick may wait for its start; default: 24h."`
		Concurrency int      `json:"concurrency,omitempty" jsonschema:"How many runs of a job with overlap: allow may run at once; default: 1."`
		DryRun      bool     `json:"dry_run,omitempty" jsonschema:"Only list the ticks."`
	}
	cancelBody struct {
		Reason  reason `json:"reason"`
		Run     string `json:"run,omitempty" jsonschema:"Only the run with this ID."`
		Waiting bool   `json:"waiting,omitempty" jsonschema:"Also withdraw pending triggers and backfills."`
	}
	pauseEnd struct {
		Until instant  `json:"until,omitempty" jsonschema:"End of the pause: ticks from then on run. Default: it lasts until it is resumed."`
		For   duration `json:"for,omitempty" jsonschema:"How long it lasts, by the clock of the store, in place of until."`
	}
	pauseBody struct {
		reasonBody
		pauseEnd
	}
	targetBody struct {
		Reason reason `json:"reason"`
		Tag    string `json:"tag,omitempty" jsonschema:"All jobs with this tag."`
		All    bool   `json:"all,omitempty" jsonschema:"All jobs of the namespace."`
	}
	pauseAllBody struct {
		targetBody
		pauseEnd
	}
	resumeBody struct {
		targetBody
		ID string `json:"id,omitempty" jsonschema:"The pause with this ID, from /pauses."`
	}
	releaseBody struct {
		Reason  releaseReason `json:"reason"`
		Confirm string        `json:"confirm" jsonschema:"The name of the lock, again."`
		Token   locking.Token `json:"token,omitempty" jsonschema:"Token of the run, if several overlap."`
	}
)

// command returns the requested command, signed by the user.
func (c *call) command(why reason) commands.Command {
	command := commands.Command{Kind: c.route.kind, Job: c.r.PathValue("job"), By: c.id.By(), Reason: string(why)}
	if key := c.r.Header.Get("Idempotency-Key"); c.route.keyed() && key != "" {
		command.ID = commands.KeyID(cmp.Or(c.id.Name, c.id.Address), key)
	}
	return command
}

// accepted answers a command. Unless it has failed, it also logs the command, in case the nodes
// lose it.
func (c *call) accepted(command view.Command, answer any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	c.cfg.Logger.Info("a command was accepted",
		"act", string(command.Kind), "of", command.Target(), "by", view.Text(command.By), "reason", view.Text(command.Reason), "id", command.ID)
	return answer, nil
}

func doTrigger(ctx context.Context, c *call) (any, error) {
	body := c.body.(*triggerBody)
	command := c.command(body.Reason)
	command.Params, command.Within = body.Params, body.Within.value()
	done, err := c.cfg.Control.Trigger(ctx, command)
	return c.accepted(done, done, err)
}

func doPauseOrResume(ctx context.Context, c *call) (any, error) {
	var body resumeBody // has the fields of the others
	var ends pauseEnd
	switch one := c.body.(type) {
	case *pauseBody: // of the job in the path
		body.Reason, ends = one.Reason, one.pauseEnd
	case *reasonBody: // as above
		body.Reason = one.Reason
	case *pauseAllBody:
		body.targetBody, ends = one.targetBody, one.pauseEnd
	case *resumeBody:
		body = *one
	}
	if body.ID != "" && (body.Tag != "" || body.All) {
		return nil, &view.InvalidError{Msg: "id: write it alone, without tag and all"}
	}
	command := c.command(body.Reason)
	command.Tag, command.All, command.Until, command.Within = body.Tag, body.All, ends.Until.value(), ends.For.value()
	done, err := c.cfg.Control.PauseOrResume(ctx, command, body.ID)
	return c.accepted(done.Command, done, err)
}

// A Planned is a backfill that was requested, or planned by a dry run.
type Planned struct {
	Job   string   `json:"job"`
	Asked bool     `json:"asked" jsonschema:"false after a dry run."`
	Ticks []string `json:"ticks" jsonschema:"Ticks that will run."`
}

func doBackfill(ctx context.Context, c *call) (any, error) {
	body := c.body.(*backfillBody)
	command := c.command(body.Reason)
	command.Within, command.Concurrency = body.Within.value(), cmp.Or(body.Concurrency, 1)
	command.From, command.To = body.From.value(), body.To.value()
	ticks, err := c.cfg.Control.Backfill(ctx, command, body.DryRun)
	answer := Planned{Job: command.Job, Asked: !body.DryRun}
	for _, t := range ticks {
		answer.Ticks = append(answer.Ticks, *view.Stamp(t))
	}
	if err == nil && body.DryRun {
		return answer, nil
	}
	return c.accepted(view.NewCommand(command), answer, err)
}

func doCancel(ctx context.Context, c *call) (any, error) {
	body := c.body.(*cancelBody)
	command := c.command(body.Reason)
	command.Run = body.Run
	done, err := c.cfg.Control.Cancel(ctx, command, body.Waiting)
	return c.accepted(view.NewCommand(command), done, err)
}

func doRelease(ctx context.Context, c *call) (any, error) {
	body := c.body.(*releaseBody)
	command := c.command(reason(body.Reason))
	if body.Confirm != command.Job {
		return nil, &view.InvalidError{Msg: "confirm is not " + command.Job + ": repeat the name of the lock there"}
	}
	taken, err := c.cfg.Control.Release(ctx, command, body.Token)
	return c.accepted(view.NewCommand(command), taken, err)
}
