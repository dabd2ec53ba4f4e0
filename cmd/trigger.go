package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) triggerCommand(f *flags) *cobra.Command {
	var who author
	var wait bool
	var within time.Duration
	var object string
	var pairs []string
	c := &cobra.Command{
		Use:   "trigger JOB",
		Short: "Run a job once, now, on one of the replicas",
		Long: `Run a job once, now, on one of the replicas: exactly once, also if replicas are
restarted meanwhile, and also if the job is paused. It waits for a run that goes
on to end, for as long as --within allows; what could not begin by then is in
the ledger as missed.

Params go before those of the configuration, key by key. Those that do not fit are
refused, where the function is known to this binary, or to the replica behind
--server; else the run fails and says why. The built-in exec and http take none.

With --wait the command follows the run to its end and prints its row: exit
code 0 if it succeeded, 1 if not.`,
		Example: `  quorate trigger nightly-report --reason "yesterday's failed"
  quorate trigger nightly-report --param customer=acme --param copies=2 --wait
  quorate trigger nightly-report --params '{"customer": "acme"}'`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			params, err := readParams(object, pairs)
			if err := errors.Join(err, checkWithin(within)); err != nil {
				return err
			}
			act := who.sign(scheduler.Act{Kind: scheduler.ActTrigger, Job: args[0], Within: within, Params: params})
			if api, err := f.api(); api != nil || err != nil {
				return a.remoteTrigger(c.Context(), api, err, act, wait)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				act, err := cl.Trigger(c.Context(), act)
				if err != nil {
					return asked(err)
				}
				if !wait {
					run := listing.TriggeredRun(act)
					run.Job = args[0]
					a.say("%s: asked for run %s; see quorate runs %s, or quorate audit", args[0], run.ID(), args[0])
					return nil
				}
				ended, err := cl.follow(c.Context(), act)
				if err != nil {
					return err
				}
				return a.showRun(args[0], ended)
			})
		},
	}
	c.Flags().BoolVarP(&wait, "wait", "w", false, "follow the run to its end; exit code 1 unless it succeeded")
	c.Flags().DurationVar(&within, "within", scheduler.DefaultWithin(scheduler.ActTrigger), "how long the run may have to wait before it begins")
	c.Flags().StringVar(&object, "params", "", "params as a JSON `object`")
	c.Flags().StringArrayVar(&pairs, "param", nil, "a param, `key=value`: a number, true, false, other JSON, or else text; may be repeated")
	authorFlags(c, &who)
	return c
}

// readParams puts the params of the flags together, nil if there are none.
func readParams(object string, pairs []string) (json.RawMessage, error) {
	params := map[string]json.RawMessage{} // numbers keep all their digits
	if object != "" {
		if err := json.Unmarshal([]byte(object), &params); err != nil || params == nil {
			return nil, usageError{fmt.Errorf(`--params %s: write a JSON object such as '{"customer": "acme"}'`, object)}
		}
		if len(pairs) == 0 {
			return json.RawMessage(object), nil // as it is written
		}
	}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usageError{fmt.Errorf("--param %s: write key=value", pair)}
		}
		value := json.RawMessage(text)
		if !json.Valid(value) {
			value, _ = json.Marshal(text) // a string always encodes
		}
		params[key] = value
	}
	if len(params) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, usageError{fmt.Errorf("--param: %w", err)}
	}
	return text, nil
}

// waitEvery is the pause between looks at a run that is waited for.
const waitEvery = 500 * time.Millisecond

// follow waits until what was triggered is decided.
func (c cluster) follow(ctx context.Context, act scheduler.Act) (scheduler.Entry, error) {
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for {
		if e, ok, err := c.ended(ctx, act); ok || err != nil {
			return e, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return scheduler.Entry{}, fmt.Errorf("stopped waiting; the run was asked for all the same: %w", context.Cause(ctx))
		}
	}
}

// ended returns what became of a trigger, and whether that is known.
func (c cluster) ended(ctx context.Context, act scheduler.Act) (scheduler.Entry, bool, error) {
	open, err := c.Acts.Open(ctx)
	if listing.Whole(err) != nil {
		return scheduler.Entry{}, false, err
	}
	list, err := c.Ledger.Ticks(ctx, scheduler.Query{Job: act.Job, Since: act.At, Before: act.At.Add(time.Millisecond), Limit: 10})
	if err != nil {
		return scheduler.Entry{}, false, err
	}
	for _, e := range list {
		if e.Stream == scheduler.StreamManual {
			return e, e.Outcome != scheduler.Running, nil
		}
	}
	for _, still := range append(open.Requests, open.Expired...) {
		if still.ID == act.ID {
			return scheduler.Entry{}, false, nil
		}
	}
	return scheduler.Entry{}, false, c.withdrawn(ctx, act)
}

// withdrawn is the error for a request that was closed without a run, nil if it
// was not closed.
func (c cluster) withdrawn(ctx context.Context, act scheduler.Act) error {
	log, err := c.Acts.Audit(ctx, scheduler.KeepAudit)
	if listing.Whole(err) != nil {
		return err
	}
	for _, a := range log {
		if a.ID == act.ID && !a.Closed.IsZero() {
			return fmt.Errorf("%s did not run: %s", act.Job, a.Result)
		}
	}
	return nil
}

// showRun prints the row of a run that has ended, and returns an error unless it
// succeeded.
func (a App) showRun(name string, e scheduler.Entry) error {
	e.Job = name
	if err := runTable([]listing.Run{listing.NewRun(e)}).print(a.Out, "table"); err != nil {
		return err
	}
	if e.Outcome != scheduler.Succeeded {
		return fmt.Errorf("run %s ended as %s", e.ID(), e.Outcome)
	}
	return nil
}
