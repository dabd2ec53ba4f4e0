package cmd

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/scheduler/listing"
)

func (a App) locksCommand(f *flags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "locks",
		Short: "List who holds which lock, and runs that never said how they ended",
		Long: `List who holds which lock, jobs and plain locks alike, and runs that never said
how they ended. The nodes themselves are asked, so no replica needs to answer. A
job whose runs go on beside one another (overlap: allow) has a line for each.

STATE is one of
  held        a quorum of the nodes holds the lock; LEFT is how long, unless the
              holder extends it
  unknown     the same, for a holder whose claim no node knows: it has not got
              that far yet, or is another Redlock client that uses this key
  partial     fewer nodes hold it than make a quorum; it ends by itself
  unfinished  the lock has run out, and nobody has said how the run ended: its
              replica died, is paused, or has lost the nodes

Exit code 4 when fewer than a quorum answer.`,
		Example: `  quorate locks
  quorate locks -o json | jq '.[] | select(.state == "unfinished")'
  quorate locks release nightly-report --reason "hangs since the deploy"`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return printRemote(c.Context(), a, api, err, "/locks", format, func(rows []listing.Lock) table[listing.Lock] { return lockListing(rows, time.Now()) })
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				held, silent := cl.Locks(c.Context())
				if listing.Whole(silent) != nil {
					return silent
				}
				return errors.Join(lockListing(held, time.Now()).print(a.Out, format), silent)
			})
		},
	}
	outputFlag(c, &format)
	c.AddCommand(a.locksReleaseCommand(f))
	return c
}

func lockListing(rows []listing.Lock, now time.Time) table[listing.Lock] {
	return cellColumn(table[listing.Lock]{
		columns: []string{"JOB", "HOLDER", "TICK", "TOKEN", "AGE", "LEFT", "NODES", "STATE"},
		cells: func(r listing.Lock) []string {
			return []string{
				r.Job, dash(r.Holder), dash(r.Tick), dash(r.Token), since(listing.Time(r.Since), now),
				timeLeft(r.LeftMillis), r.Nodes, r.State,
			}
		},
		rows:  rows,
		empty: "nobody holds a lock on these nodes",
		drop:  []string{"TICK", "TOKEN", "NODES"},
		cut:   []string{"JOB", "HOLDER"},
	}, func(r listing.Lock) *string { return r.Cell })
}

func timeLeft(ms *int64) string {
	switch {
	case ms == nil:
		return "endless"
	case *ms == 0:
		return "-"
	}
	return short(time.Duration(*ms) * time.Millisecond)
}
