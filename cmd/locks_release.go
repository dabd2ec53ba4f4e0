package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
)

func (a App) locksReleaseCommand(f *flags) *cobra.Command {
	var reason string
	var token uint64
	c := &cobra.Command{
		Use:   "release JOB",
		Short: "Take a lock away from its holder by force",
		Long: `Take the lock of a job, or a plain lock, away from its holder, for when a run
hangs and the next tick must not wait for it, or a lock was left behind that
does not end by itself.

The run is told at its next extension (every lock.extend_every, a third of
lock.ttl unless set): its context ends, and the ledger keeps it as lease_lost
with the reason given here. Its tick is not run again, unless the job's on_crash
is rerun, and its token stays used.

Where several runs of the job go on beside one another (overlap: allow), --token
says which is meant; quorate locks lists them.

Somebody else may begin before the run has stopped. Sinks that check the token
refuse what it still writes then; where none does, stop the holder first.

Exit code 3 when nobody holds the lock, 4 when fewer than a quorum answer.`,
		Example: `  quorate locks release nightly-report --reason "hangs since the deploy"
  quorate locks release imports --token 1883434212261889 --reason "stuck"`,
		Args: usage(cobra.ExactArgs(1)),
		PreRunE: func(*cobra.Command, []string) error {
			if reason == "" {
				return usageError{errors.New(`say why with --reason "…": the run's record will carry it`)}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				h, err := cl.Cluster.Evict(c.Context(), args[0], locking.Token(token), reason)
				if errors.Is(err, redlock.ErrSeveral) {
					return usageError{fmt.Errorf("%w, with --token", err)}
				}
				if err != nil {
					return err
				}
				fmt.Fprint(a.Out, released(h))
				act := scheduler.Act{Kind: scheduler.ActRelease, Job: args[0], By: whoami(), Reason: reason, Result: "taken from " + h.Holder}
				if err := cl.Note(c.Context(), act); err != nil {
					fmt.Fprintf(a.Err, "quorate: the audit log does not have it: %v\n", err)
				}
				return nil
			})
		},
	}
	c.Flags().Uint64Var(&token, "token", 0, "the `token` of the run that is meant, where several run beside one another (overlap: allow)")
	c.Flags().StringVar(&reason, "reason", "", "why, in a few `words`; required")
	return c
}

// released says what a forced release has done, and what is still to come.
func released(h redlock.Holding) string {
	text := fmt.Sprintf("%s: the lock was taken from %v\n", h.Name, h)
	if !h.Known() {
		return text + "its holder has no token that could be refused: make sure that it has stopped\n"
	}
	text += "the context of its work ends at its next extension, a third of lock.ttl from now at most by default\n"
	switch {
	case h.Tick.IsZero():
	case h.Mode == locking.AtLeastOnce:
		text += "its tick may be run again, with a larger token (on_crash: rerun)\n"
	default:
		text += "its tick is not run again\n"
	}
	return text
}
