package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/replica"
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
			switch n := len(strings.Join(strings.Fields(reason), " ")); {
			case n == 0:
				return usageError{errors.New(`say why with --reason "…": the run's record will carry it`)}
			case n < redlock.MinReason || n > redlock.MaxReason:
				return usageError{fmt.Errorf("--reason has %d bytes: say why in %d to %d", n, redlock.MinReason, redlock.MaxReason)}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			act := scheduler.Act{Kind: scheduler.ActRelease, Job: args[0], By: whoami(), Reason: reason}
			if api, err := f.api(); api != nil || err != nil {
				return a.remoteRelease(c.Context(), api, err, act, token)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				h, err := cl.Cluster.Evict(c.Context(), act.Job, locking.Token(token), reason)
				if errors.Is(err, redlock.ErrSeveral) {
					return usageError{fmt.Errorf("%w, with --token", err)}
				}
				if err != nil {
					return err
				}
				fmt.Fprint(a.Out, released(replica.LockRows("", []redlock.Holding{h})[0]))
				act.Result = "taken from " + h.Holder
				if err := cl.Note(c.Context(), act); err != nil {
					a.warn("the audit log does not have it: %v", err)
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
func released(l listing.Lock) string {
	from := "an unknown holder"
	if l.Token != nil {
		from = fmt.Sprintf("%s with token %d", cmp.Or(listing.Text(l.Holder), "somebody"), *l.Token)
	}
	if l.Tick != nil {
		from += " for tick " + *l.Tick
	}
	text := fmt.Sprintf("%s: the lock was taken from %s\n", l.Job, from)
	if l.Token == nil {
		return text + "its holder has no token that could be refused: make sure that it has stopped\n"
	}
	text += "the context of its work ends at its next extension, a third of lock.ttl from now at most by default\n"
	switch {
	case l.Tick == nil:
	case listing.Text(l.OnCrash) == "rerun":
		text += "its tick may be run again, with a larger token (on_crash: rerun)\n"
	default:
		text += "its tick is not run again\n"
	}
	return text
}

// remoteRelease asks a server for it.
func (a App) remoteRelease(ctx context.Context, s *server, err error, act scheduler.Act, token uint64) error {
	if err != nil {
		return err
	}
	body := map[string]any{"confirm": act.Job}
	if token != 0 {
		body["token"] = token
	}
	var taken listing.Lock
	if err := s.act(ctx, "/locks/"+url.PathEscape(act.Job)+"/release", act, body, &taken); err != nil {
		return err
	}
	fmt.Fprint(a.Out, released(taken))
	return nil
}
