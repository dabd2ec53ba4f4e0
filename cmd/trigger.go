package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/scheduler/acts"
)

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
			act := a.sign(acts.Act{Kind: acts.Trigger, Job: args[0], Within: within, Params: params})
			return trigger(c.Context(), a, act, wait)
		},
	}
	c.Flags().BoolVarP(&wait, "wait", "w", false, "wait for the run to end; exit code 1 unless it succeeded")
	c.Flags().DurationVar(&within, "within", acts.DefaultWithin(acts.Trigger), "how long the run may wait for its start")
	c.Flags().StringVar(&object, "params", "", "params as a JSON `object`")
	c.Flags().StringArrayVar(&pairs, "param", nil, "a param, `key=value`; the value is JSON, such as a number, else text; may be repeated")
	authorFlags(c, a)
	return c
}

// trigger requests a run, and may wait for it to end.
func trigger(ctx context.Context, a *cli, act acts.Act, wait bool) error {
	return a.withCluster(ctx, func(cl cluster.Cluster) error {
		asked, err := cl.Trigger(ctx, act)
		if err != nil {
			return err
		}
		if !wait {
			a.say("%s: requested run %s; see quorate runs %s, or quorate audit", act.Job, asked.Run, act.Job)
			return nil
		}
		row, err := asked.Wait(ctx)
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
