package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/replica"
)

// errUnwell makes nodes check fail after it has printed why.
var errUnwell = errors.New("not all is well; see above")

func (a App) nodesCheckCommand(f *flags) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "check",
		Short: "Judge each node, and say whether the next one may be restarted",
		Long: `Judge each node: what a restart would cost it, whether it evicts keys or is about
to run out of memory, whose clock stands apart, how far away it is, and whether
the next node may be restarted, because a quorum vouches without it. Findings say
what to do about them.

Exit code 0 when all is well and every node votes, 1 when something is to be
mended or waited for, 4 when fewer than a quorum answer.`,
		Example: `  quorate nodes check
  until quorate nodes check; do sleep 5; done   # then restart the next node`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if api, err := f.api(); api != nil || err != nil {
				return a.remoteCheck(c.Context(), api, err, format)
			}
			return a.withCluster(c.Context(), f, func(cl cluster) error {
				var list []cellCheckup
				for _, s := range cl.Sets {
					list = append(list, cellCheckup{s, s.Check(c.Context())})
				}
				if err := printCheckup(a.Out, list, format); err != nil {
					return err
				}
				return judged(list)
			})
		},
	}
	outputFlag(c, &format)
	return c
}

// A cellSet is a *nodes.Set, as far as a checkup needs one.
type cellSet interface {
	Cell() string
	Len() int
	Quorum() int
}

// A cellCheckup is one group of nodes, and how it was judged.
type cellCheckup struct {
	set cellSet
	nodes.Checkup
}

// judged is the error of the cells that did not answer, else of those that are
// not well.
func judged(list []cellCheckup) error {
	var silent []error
	unwell := false
	for _, c := range list {
		silent = append(silent, inCell(c.set.Cell(), c.Answered(c.set.Quorum())))
		unwell = unwell || c.Level() > nodes.Note
	}
	if err := errors.Join(silent...); err != nil || !unwell {
		return err
	}
	return errUnwell
}

// printCheckup writes the rows, and for people the findings and the advice below.
func printCheckup(w io.Writer, list []cellCheckup, format string) error {
	var rows []listing.Check
	for _, c := range list {
		rows = append(rows, replica.CheckRows(c.set.Cell(), c.Checkup)...)
	}
	if err := printChecks(w, rows, format); err != nil || format == "json" {
		return err
	}
	for _, c := range list {
		remark(w, nextRestart(c.set.Cell()), advice(c.Checkup, c.set.Len()))
	}
	return nil
}

// printChecks writes the rows, and for people the findings below.
func printChecks(w io.Writer, rows []listing.Check, format string) error {
	if err := checkListing(rows).print(w, format); err != nil || format == "json" {
		return err
	}
	fmt.Fprintln(w)
	for _, row := range rows {
		for _, f := range row.Findings {
			who := "this machine"
			if row.Node != nil {
				who = *row.Node
			}
			remark(w, who+": "+f.Level, f.Text)
		}
	}
	return nil
}

func nextRestart(cell string) string {
	if cell == "" {
		return "next restart"
	}
	return "next restart in cell " + cell
}

// remoteCheck asks a server for the checkup, which is made from where it runs.
func (a App) remoteCheck(ctx context.Context, s *server, err error, format string) error {
	if err != nil {
		return err
	}
	list, err := rows[listing.Check](ctx, s, "/nodes/check", nil, 0)
	if err == nil {
		err = printChecks(a.Out, list, format)
	}
	if err != nil {
		return err
	}
	var silent []error
	unwell := false
	for _, cell := range byCell(list, func(r listing.Check) *string { return r.Cell }) {
		c := remoteCheckup(cell)
		if format != "json" {
			remark(a.Out, nextRestart(listing.Text(cell[0].Cell)), c.advice)
		}
		silent = append(silent, inCell(listing.Text(cell[0].Cell), quorumOf(c.answered, c.nodes)))
		unwell = unwell || c.unwell
	}
	if err := errors.Join(silent...); err != nil || !unwell {
		return err
	}
	return errUnwell
}

// A remoteVerdict is what the rows of a cell come to.
type remoteVerdict struct {
	nodes, answered int
	unwell          bool
	advice          string
}

func remoteCheckup(rows []listing.Check) remoteVerdict {
	v := remoteVerdict{advice: "none may be restarted now: too few nodes vouch for a quorum to be left without one; quorate nodes says until when"}
	for _, r := range rows {
		v.unwell = v.unwell || r.Verdict != "ok"
		if r.Node == nil {
			continue
		}
		v.nodes++
		if listing.Answers(r.State) {
			v.answered++
		}
		if r.MayRestart {
			v.advice = advice(nodes.Checkup{Next: *r.Node}, len(rows))
		}
	}
	if v.nodes == 1 {
		v.advice = advice(nodes.Checkup{}, 1)
	}
	return v
}

// advice says in words whether the next node may be restarted.
func advice(c nodes.Checkup, size int) string {
	switch {
	case c.Next != "":
		return c.Next + " may be restarted now: a quorum vouches without it. Then wait until all is well again"
	case !c.NextAt.IsZero():
		return "not before " + *listing.Stamp(c.NextAt.Truncate(time.Second)) + ": until then too few nodes vouch for a quorum to be left without one"
	case size == 1:
		return "there is one node only: while it restarts, and for one restart_grace after, ticks are missed"
	}
	return "none may be restarted: too few nodes vouch for a quorum to be left without one; mend what is named above"
}

func checkListing(list []listing.Check) table[listing.Check] {
	return cellColumn(table[listing.Check]{
		columns: []string{"NODE", "STATE", "VERDICT", "RTT", "OFFSET", "MEMORY", "VERSION", "PERSISTENCE"},
		cells: func(r listing.Check) []string {
			return []string{
				dash(r.Node), r.State, r.Verdict, ms(r.RTTMillis), ms(r.OffsetMilli), memory(r),
				dash(r.Version), persistence(r),
			}
		},
		rows: list,
		drop: []string{"VERSION", "MEMORY", "RTT"},
		cut:  []string{"NODE"},
	}, func(r listing.Check) *string { return r.Cell })
}

// memory is how full the node is.
func memory(r listing.Check) string {
	switch {
	case r.UsedMemory == nil:
		return "-"
	case r.MaxMemory == nil:
		return "no max"
	}
	return fmt.Sprintf("%d%%", 100**r.UsedMemory / *r.MaxMemory)
}

func persistence(r listing.Check) string {
	if r.Fsync != nil && r.Persistence != nil && *r.Persistence == "aof" {
		return "aof " + *r.Fsync
	}
	return dash(r.Persistence)
}

// remarkWidth is how wide the lines of remarks are where there is room.
const remarkWidth = 98

// remark writes a sentence about somebody, broken to fit a terminal.
func remark(w io.Writer, who, text string) {
	width := remarkWidth
	if terminal := terminalWidth(w)(); terminal > 0 {
		width = min(width, terminal)
	}
	fmt.Fprint(w, broken(who+": "+text, "    ", width))
}
