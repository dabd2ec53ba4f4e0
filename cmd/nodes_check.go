package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking/redlock/nodes"
)

// A checkRow is one node as `quorate nodes check -o json` shows it, or this
// machine, without a name, if something is wrong with it.
type checkRow struct {
	Cell        *string      `json:"cell"` // null if there is one group of nodes
	Node        *string      `json:"node"`
	State       string       `json:"state"`
	Verdict     string       `json:"verdict"` // ok, wait, mend
	MayRestart  bool         `json:"may_restart"`
	Findings    []findingRow `json:"findings"`
	Version     *string      `json:"version"`
	Persistence *string      `json:"persistence"`
	Fsync       *string      `json:"fsync"`
	Eviction    *string      `json:"eviction"`
	MaxMemory   *int64       `json:"max_memory"`
	UsedMemory  *int64       `json:"used_memory"`
	RTTMillis   *float64     `json:"rtt_ms"`
	OffsetMilli *float64     `json:"offset_ms"`
}

type findingRow struct {
	Topic string `json:"topic"`
	Level string `json:"level"` // note, wait, mend
	Text  string `json:"text"`
}

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
		silent = append(silent, inCell(c.set, c.Answered(c.set.Quorum())))
		unwell = unwell || c.Level() > nodes.Note
	}
	if err := errors.Join(silent...); err != nil || !unwell {
		return err
	}
	return errUnwell
}

// printCheckup writes the rows, and for people the findings and the advice below.
func printCheckup(w io.Writer, list []cellCheckup, format string) error {
	l := checkListing(list)
	if err := l.print(w, format); err != nil || format == "json" {
		return err
	}
	fmt.Fprintln(w)
	for _, row := range l.rows {
		for _, f := range row.Findings {
			who := "this machine"
			if row.Node != nil {
				who = *row.Node
			}
			remark(w, who+": "+f.Level, f.Text)
		}
	}
	for _, c := range list {
		what := "next restart"
		if name := c.set.Cell(); name != "" {
			what += " in cell " + name
		}
		remark(w, what, advice(c.Checkup, c.set.Len()))
	}
	return nil
}

// advice says in words whether the next node may be restarted.
func advice(c nodes.Checkup, size int) string {
	switch {
	case c.Next != "":
		return c.Next + " may be restarted now: a quorum vouches without it. Then wait until all is well again"
	case !c.NextAt.IsZero():
		return "not before " + *stamp(c.NextAt.Truncate(time.Second)) + ": until then too few nodes vouch for a quorum to be left without one"
	case size == 1:
		return "there is one node only: while it restarts, and for one restart_grace after, ticks are missed"
	}
	return "none may be restarted: too few nodes vouch for a quorum to be left without one; mend what is named above"
}

func checkListing(list []cellCheckup) listing[checkRow] {
	l := listing[checkRow]{
		columns: []string{"NODE", "STATE", "VERDICT", "RTT", "OFFSET", "MEMORY", "VERSION", "PERSISTENCE"},
		cells: func(r checkRow) []string {
			return []string{
				clip(dash(r.Node), 22), r.State, r.Verdict, ms(r.RTTMillis), ms(r.OffsetMilli), memory(r),
				clip(dash(r.Version), 13), persistence(r),
			}
		},
	}
	for _, c := range list {
		for _, n := range c.Nodes {
			row := newCheckRow(n)
			row.Cell = optional(c.set.Cell())
			l.rows = append(l.rows, row)
		}
		if len(c.Local) > 0 {
			l.rows = append(l.rows, checkRow{
				Cell: optional(c.set.Cell()), State: "local", Verdict: nodes.Mend.String(), Findings: findingRows(c.Local),
			})
		}
	}
	return cellColumn(l, func(r checkRow) *string { return r.Cell })
}

func newCheckRow(n nodes.Condition) checkRow {
	row := checkRow{
		Node: optional(n.Name), State: nodeState(n.Status), Verdict: "ok", MayRestart: n.MayRestart,
		Findings: findingRows(n.Findings), Version: optional(n.Version), Persistence: optional(n.Persistence),
		Fsync: optional(n.Fsync), Eviction: optional(n.MaxmemoryPolicy), MaxMemory: optional(n.MaxMemory), UsedMemory: optional(n.UsedMemory),
	}
	if level := n.Level(); level > nodes.Note {
		row.Verdict = level.String()
	}
	if n.Reachable {
		rtt, offset := millis(n.RTT), millis(n.Offset)
		row.RTTMillis, row.OffsetMilli = &rtt, &offset
	}
	return row
}

func findingRows(findings []nodes.Finding) []findingRow {
	rows := []findingRow{}
	for _, f := range findings {
		rows = append(rows, findingRow{f.Topic, f.Level.String(), f.Text})
	}
	return rows
}

// memory is how full the node is.
func memory(r checkRow) string {
	switch {
	case r.UsedMemory == nil:
		return "-"
	case r.MaxMemory == nil:
		return "no max"
	}
	return fmt.Sprintf("%d%%", 100**r.UsedMemory / *r.MaxMemory)
}

func persistence(r checkRow) string {
	if r.Fsync != nil && r.Persistence != nil && *r.Persistence == "aof" {
		return "aof " + *r.Fsync
	}
	return dash(r.Persistence)
}

// remark writes a sentence about somebody, broken to fit a terminal.
func remark(w io.Writer, who, text string) {
	const width = 98
	line := who + ":"
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			fmt.Fprintln(w, line)
			line = "   "
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
