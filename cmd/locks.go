package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
)

func locksCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "locks",
		Short: "List the held locks, and runs that never reported their end",
		Long: `List the held locks, of jobs and plain ones, and runs that never reported their end.
The command reads the store, so no replica needs to answer. A job whose runs may
overlap (overlap: allow) has a row for each run.

STATE is one of
  held        the store, or a quorum of its nodes, holds the lock, for LEFT unless
              the holder extends it
  unknown     held, but no node has a claim of the holder: it has not claimed yet,
              or is another Redlock client that uses this key
  partial     fewer nodes than a quorum hold the lock; it ends by itself
  unfinished  the lock has expired, and the run never reported its end: its replica
              died, is paused, or cannot reach the store

Exit code 4 if the store does not answer.`,
		Example: `  quorate locks
  quorate locks -o json | jq '.[] | select(.state == "unfinished")'
  quorate locks release nightly-report --reason "hangs since the deploy"`,
		RunE: listRows(a, cluster.Cluster.Locks, asOfNow(lockListing)),
	}
	outputFlag(c, a)
	c.AddCommand(locksReleaseCommand(a))
	return c
}

func lockListing(rows []view.Lock, now time.Time) output.Table[view.Lock] {
	return output.Table[view.Lock]{
		Columns: []string{"JOB", "HOLDER", "TICK", "TOKEN", "AGE", "LEFT", "NODES", "STATE"},
		Cells: func(r view.Lock) []string {
			return []string{
				r.Job, output.Dash(r.Holder), output.Dash(r.Tick), output.Dash(r.Token), output.Since(view.Time(r.Since), now),
				timeLeft(r.LeftMillis), ofSeveral(r.Nodes), r.State,
			}
		},
		Rows:   rows,
		Empty:  "no lock is held",
		Sparse: []string{"NODES"},
		Drop:   []string{"TICK", "TOKEN", "NODES"},
		Cut:    []string{"JOB", "HOLDER"},
	}
}

// ofSeveral is how many of the nodes have agreed, "-" if there is only one, or one store.
func ofSeveral(agreed string) string {
	if strings.HasSuffix(agreed, "/1") {
		return "-"
	}
	return agreed
}

func timeLeft(ms *int64) string {
	switch {
	case ms == nil:
		return "endless"
	case *ms == 0:
		return "-"
	}
	return output.Short(time.Duration(*ms) * time.Millisecond)
}

func locksReleaseCommand(a *cli) *cobra.Command {
	var token uint64
	c := &cobra.Command{
		Use:   "release JOB",
		Short: "Take a lock from its holder by force",
		Long: `Take the lock of a job, or a plain lock, from its holder. Use it if a run hangs and
the next tick must not wait, or if an abandoned lock does not expire.

The run learns of it at its next extension (every lock.extend_every, by default a
third of lock.ttl). Then its context ends, and the ledger records it as lease_lost
with your reason. Its tick does not run again, unless on_crash is rerun, and its token
stays used.

If several runs of the job overlap (overlap: allow), --token selects one; quorate
locks lists the tokens.

Another run may start before this one has stopped. Sinks that check the token refuse
its late writes. Without such a sink, stop the holder first.

Exit code 3 if the lock is not held, 4 if the store does not answer.`,
		Example: `  quorate locks release nightly-report --reason "hangs since the deploy"
  quorate locks release imports --token 1883434212261889 --reason "stuck"`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			switch n := len(strings.Join(strings.Fields(a.reason), " ")); {
			case n == 0:
				return failure.Usagef(`give a reason with --reason "…": the run's record will have it`)
			case n < locking.MinReason || n > locking.MaxReason:
				return failure.Usagef("--reason has %s: write %d to %d", view.Count(n, "byte", "bytes"), locking.MinReason, locking.MaxReason)
			}
			return nil
		},
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, args []string) error {
			taken, warning, err := cl.Release(ctx, a.sign(acts.Act{Kind: acts.Release, Job: args[0]}), token)
			if err != nil {
				return err
			}
			fmt.Fprint(a.Out, released(taken))
			a.warnOf(warning)
			return nil
		}),
	}
	c.Flags().Uint64Var(&token, "token", 0, "`token` of the run, if several overlap (overlap: allow)")
	c.Flags().StringVar(&a.reason, "reason", "", "reason, in a few `words`; required")
	return c
}

// released reports a forced release and its effects.
func released(l view.Lock) string {
	from := "an unknown holder"
	if l.Token != nil {
		from = fmt.Sprintf("%s with token %d", cmp.Or(view.Text(l.Holder), "somebody"), *l.Token)
	}
	if l.Tick != nil {
		from += " for tick " + *l.Tick
	}
	text := fmt.Sprintf("%s: the lock was taken from %s\n", l.Job, from)
	if l.Token == nil {
		return text + "its holder has no token that a sink could refuse: make sure that it has stopped\n"
	}
	text += "its context ends at its next extension, by default after a third of lock.ttl at most\n"
	switch {
	case l.Tick == nil:
	case view.Text(l.OnCrash) == "rerun":
		text += "its tick may be run again, with a larger token (on_crash: rerun)\n"
	default:
		text += "its tick is not run again\n"
	}
	return text
}
