package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A lockRow is one lock as `quorate locks -o json` shows it.
type lockRow struct {
	Cell       *string        `json:"cell"` // null if there is one group of nodes
	Job        string         `json:"job"`
	State      string         `json:"state"` // held, unknown, partial, unfinished
	Holder     *string        `json:"holder"`
	Tick       *string        `json:"tick"`
	Stream     *string        `json:"stream"` // of the tick: schedule, manual, backfill
	Beside     bool           `json:"beside"` // runs beside other ticks (overlap: allow)
	Token      *locking.Token `json:"token"`
	Attempt    *int           `json:"attempt"`
	OnCrash    *string        `json:"on_crash"` // of the claim: skip or rerun
	Since      *string        `json:"since"`
	LeftMillis *int64         `json:"left_ms"` // null if it never ends
	Nodes      string         `json:"nodes"`
	Done       bool           `json:"done"`
	Void       bool           `json:"void"`

	since time.Time
	left  time.Duration
}

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
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				var held []cellHolding
				silent := cl.inCells(func(s *nodes.Set) error {
					list, err := redlock.Holders(c.Context(), s)
					for _, h := range list {
						held = append(held, cellHolding{s.Cell(), h})
					}
					return err
				})
				if silent != nil && len(cl.Sets) == 1 {
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

// A cellHolding is a lock that is held in a cell.
type cellHolding struct {
	cell string
	redlock.Holding
}

func lockListing(held []cellHolding, now time.Time) listing[lockRow] {
	l := listing[lockRow]{
		columns: []string{"JOB", "HOLDER", "TICK", "TOKEN", "AGE", "LEFT", "NODES", "STATE"},
		cells: func(r lockRow) []string {
			return []string{
				clip(r.Job, 24), clip(dash(r.Holder), 24), dash(r.Tick), dash(r.Token), since(r.since, now),
				timeLeft(r.left), r.Nodes, r.State,
			}
		},
		empty: "nobody holds a lock on these nodes",
	}
	for _, h := range held {
		row := newLockRow(h.Holding)
		row.Cell = optional(h.cell)
		l.rows = append(l.rows, row)
	}
	return cellColumn(l, func(r lockRow) *string { return r.Cell })
}

func newLockRow(h redlock.Holding) lockRow {
	row := lockRow{
		Job: h.Name, State: lockState(h), Holder: optional(h.Holder), Tick: stamp(h.Tick), Token: optional(h.Token),
		Attempt: optional(h.Attempt), Since: stamp(h.Since), Nodes: fmt.Sprintf("%d/%d", h.On.For, h.On.Of),
		Done: h.Done, Void: h.Void, Beside: h.Beside, since: h.Since, left: h.Left,
	}
	if !h.Tick.IsZero() {
		row.Stream = optional(h.Stream)
		row.OnCrash = optional(map[locking.Mode]string{locking.AtMostOnce: "skip", locking.AtLeastOnce: "rerun"}[h.Mode])
	}
	if h.Left != redlock.Endless {
		left := h.Left.Milliseconds()
		row.LeftMillis = &left
	}
	return row
}

func lockState(h redlock.Holding) string {
	switch {
	case h.On.For == 0:
		return "unfinished"
	case !h.Held():
		return "partial"
	case !h.Known():
		return "unknown"
	}
	return "held"
}

func timeLeft(d time.Duration) string {
	switch d {
	case 0:
		return "-"
	case redlock.Endless:
		return "endless"
	}
	return short(d)
}
