package web

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// Texts of bodies, which have schemas of their own.
type (
	reason     string
	takeReason string // of a lock that is taken away
	duration   string
	instant    string
)

func (d duration) value() time.Duration {
	v, _ := time.ParseDuration(string(d)) // its schema was checked
	return v
}

func (i instant) value() time.Time {
	at, _ := time.Parse(time.RFC3339, string(i)) // its schema was checked
	return at.UTC()
}

// Bodies of acts.
type (
	reasonBody struct {
		Reason reason `json:"reason"`
	}
	triggerBody struct {
		Reason reason          `json:"reason"`
		Params json.RawMessage `json:"params,omitempty"`
		Within duration        `json:"within,omitempty" jsonschema:"how long the run may have to wait before it begins; default 1h"`
	}
	backfillBody struct {
		Reason      reason   `json:"reason"`
		From        instant  `json:"from" jsonschema:"first time of the range"`
		To          instant  `json:"to" jsonschema:"time before which the range ends"`
		Within      duration `json:"within,omitempty" jsonschema:"how long the last tick may have to wait before it begins; default 24h"`
		Concurrency int      `json:"concurrency,omitempty" jsonschema:"how many runs may go on at once, of a job with overlap: allow; default 1"`
		DryRun      bool     `json:"dry_run,omitempty" jsonschema:"only list the ticks"`
	}
	cancelBody struct {
		Reason  reason `json:"reason"`
		Run     string `json:"run,omitempty" jsonschema:"only the run with this id"`
		Waiting bool   `json:"waiting,omitempty" jsonschema:"also withdraw triggers and backfills that are not done"`
	}
	targetBody struct {
		Reason reason `json:"reason"`
		Tag    string `json:"tag,omitempty" jsonschema:"all jobs with this tag"`
		All    bool   `json:"all,omitempty" jsonschema:"all jobs of the namespace"`
	}
	resumeBody struct {
		targetBody
		ID string `json:"id,omitempty" jsonschema:"the pause with this id, as /pauses lists it"`
	}
	releaseBody struct {
		Reason  takeReason    `json:"reason"`
		Confirm string        `json:"confirm" jsonschema:"the name of the lock, once more"`
		Token   locking.Token `json:"token,omitempty" jsonschema:"of the run that is meant, where several run beside one another"`
	}
)

// act is what is asked for, signed by who asks.
func (c *call) act(why reason) scheduler.Act {
	act := scheduler.Act{Kind: c.route.kind, Job: c.r.PathValue("job"), By: c.id.By(), Reason: string(why)}
	if key := c.r.Header.Get("Idempotency-Key"); c.route.named() && key != "" {
		act.ID = scheduler.ActID(cmp.Or(c.id.Name, c.id.Address), key)
	}
	return act
}

// accepted writes an act into the log of the replica, which has it when the nodes
// have lost it.
func (c *call) accepted(act scheduler.Act) {
	c.cfg.Logger.Info("an act was accepted",
		"act", string(act.Kind), "of", act.Target(), "by", act.By, "reason", act.Reason, "id", act.ID)
}

func askTrigger(ctx context.Context, c *call) (any, error) {
	body := c.body.(*triggerBody)
	act := c.act(body.Reason)
	act.Params, act.Within = body.Params, body.Within.value()
	done, err := c.cfg.Control.Trigger(ctx, act)
	if err != nil {
		return nil, err
	}
	c.accepted(done)
	return listing.NewAct(done), nil
}

// What a pause or resume has done.
type stood struct {
	Act   listing.Act `json:"act"`
	Doubt *string     `json:"doubt" jsonschema:"why it may not be what was meant; null if nothing speaks against it"`
}

func askJob(kind scheduler.ActKind) func(context.Context, *call) (any, error) {
	return func(ctx context.Context, c *call) (any, error) {
		act := c.act(c.body.(*reasonBody).Reason)
		act.Kind = kind
		return c.stand(ctx, act)
	}
}

func askPause(ctx context.Context, c *call) (any, error) {
	body := c.body.(*targetBody)
	act := c.act(body.Reason)
	act.Tag, act.All = body.Tag, body.All
	return c.stand(ctx, act)
}

func askResume(ctx context.Context, c *call) (any, error) {
	body := c.body.(*resumeBody)
	act := c.act(body.Reason)
	if act.Tag, act.All = body.Tag, body.All; body.ID == "" {
		return c.stand(ctx, act)
	}
	if body.Tag != "" || body.All {
		return nil, &listing.InvalidError{Msg: "id: write it alone, without tag and all"}
	}
	done, err := c.cfg.Control.Resume(ctx, act, body.ID)
	if err != nil {
		return nil, err
	}
	c.accepted(done)
	return stood{Act: listing.NewAct(done)}, nil
}

func (c *call) stand(ctx context.Context, act scheduler.Act) (any, error) {
	done, doubt, err := c.cfg.Control.Stand(ctx, act)
	if err != nil {
		return nil, err
	}
	c.accepted(done)
	return stood{Act: listing.NewAct(done), Doubt: listing.Optional(doubt)}, nil
}

// A planned is what a backfill would do, or was asked for.
type planned struct {
	Job   string   `json:"job"`
	Asked bool     `json:"asked" jsonschema:"false after a dry run"`
	Ticks []string `json:"ticks"`
}

func askBackfill(ctx context.Context, c *call) (any, error) {
	body := c.body.(*backfillBody)
	act := c.act(body.Reason)
	act.Within, act.Concurrency = body.Within.value(), cmp.Or(body.Concurrency, 1)
	act.From, act.To = body.From.value(), body.To.value()
	var ticks []time.Time
	var err error
	if body.DryRun {
		ticks, _, err = c.cfg.Control.Planned(ctx, act)
	} else {
		ticks, err = c.cfg.Control.Backfill(ctx, act)
	}
	if err != nil {
		return nil, err
	}
	if !body.DryRun {
		c.accepted(act)
	}
	answer := planned{Job: act.Job, Asked: !body.DryRun}
	for _, t := range ticks {
		answer.Ticks = append(answer.Ticks, *listing.Stamp(t))
	}
	return answer, nil
}

// A cancelled is what a cancel has done.
type cancelled struct {
	Runs      []listing.Run `json:"runs" jsonschema:"that were asked to stop"`
	Withdrawn []listing.Act `json:"withdrawn" jsonschema:"triggers and backfills that were closed"`
}

func askCancel(ctx context.Context, c *call) (any, error) {
	body := c.body.(*cancelBody)
	act := c.act(body.Reason)
	act.Run = body.Run
	done, err := c.cfg.Control.Cancel(ctx, act, body.Waiting)
	if err != nil {
		return nil, err
	}
	c.accepted(act)
	answer := cancelled{Runs: []listing.Run{}, Withdrawn: []listing.Act{}}
	for _, e := range done.Runs {
		answer.Runs = append(answer.Runs, listing.NewRun(e))
	}
	for _, a := range done.Withdrawn {
		answer.Withdrawn = append(answer.Withdrawn, listing.NewAct(a))
	}
	return answer, nil
}

func askRelease(ctx context.Context, c *call) (any, error) {
	body := c.body.(*releaseBody)
	act := c.act(reason(body.Reason))
	if body.Confirm != act.Job {
		return nil, &listing.InvalidError{Msg: "confirm is not " + act.Job + ": write the name of the lock there, too"}
	}
	taken, err := c.cfg.Control.Release(ctx, act, body.Token)
	if err != nil {
		return nil, err
	}
	c.accepted(act)
	return taken, nil
}
