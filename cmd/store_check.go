package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
)

// errUnwell is the error of store check after it has printed its findings.
var errUnwell = errors.New("some findings need attention; see above")

func storeCheckCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the store: what it may lose, its clock, its distance, and when to restart it",
		Long: `Check the store: what it would lose in a crash, a restart or a failover, its clock, its
distance, whether it takes writes, and from when on it grants ticks. Findings say what
to do. To find out, it writes a record that nothing reads, and needs a replica's rights.

PostgreSQL: its settings, and its standbys. Redis nodes: each node, whether it evicts
keys or runs out of memory, and whether the next node may be restarted while a quorum
votes without it.

Exit code 0 if nothing must be done, 1 if you must act or wait, 4 if the store, or a
quorum of its nodes, does not answer.`,
		Example: `  quorate store check
  until quorate store check; do sleep 5; done   # then restart the next Redis node`,
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error { return checkCluster(ctx, a, cl) }),
	}
	outputFlag(c, a)
	return c
}

// checkCluster prints the findings, and returns an error if something must be done.
func checkCluster(ctx context.Context, a *cli, cl cluster.Cluster) error {
	c, err := cl.Check(ctx)
	if err == nil {
		err = printCheckup(a.Out, c, a.format)
	}
	switch {
	case err != nil:
		return err
	case c.Silent != nil:
		return c.Silent
	case c.Unwell:
		return errUnwell
	}
	return nil
}

// printCheckup prints the rows, and below a table the findings and the advice.
func printCheckup(w io.Writer, c cluster.Checkup, format string) error {
	if err := checkListing(c.Rows).Print(w, format); err != nil || format == "json" {
		return err
	}
	if c.Advice != "" || slices.ContainsFunc(c.Rows, func(r view.Check) bool { return len(r.Findings) > 0 }) {
		fmt.Fprintln(w)
	}
	for _, row := range c.Rows {
		for _, f := range row.Findings {
			who := "this machine"
			if row.Node != nil {
				who = *row.Node
			}
			output.Remark(w, who+": "+f.Level, f.Text)
		}
	}
	if c.Advice != "" {
		output.Remark(w, "next restart", c.Advice)
	}
	return nil
}

func checkListing(list []view.Check) output.Table[view.Check] {
	title := "NODE"
	if len(list) > 0 && list[0].Kind == view.KindStore {
		title = "STORE"
	}
	return output.Table[view.Check]{
		Columns: []string{title, "STATE", "VERDICT", "RTT", "OFFSET", "MEMORY", "VERSION", "PERSISTENCE"},
		Cells: func(r view.Check) []string {
			return []string{
				output.Dash(r.Node), r.State, r.Verdict, output.Millis(r.RTTMillis), output.Millis(r.OffsetMilli), memory(r),
				output.Dash(r.Version), persistence(r),
			}
		},
		Rows:   list,
		Sparse: []string{"MEMORY", "PERSISTENCE"}, // only Redis has them
		Drop:   []string{"VERSION", "MEMORY", "RTT"},
		Cut:    []string{title},
	}
}

// memory shows the used share of the node's memory.
func memory(r view.Check) string {
	switch {
	case r.UsedMemory == nil:
		return "-"
	case r.MaxMemory == nil:
		return "no max"
	}
	return fmt.Sprintf("%d%%", 100**r.UsedMemory / *r.MaxMemory)
}

func persistence(r view.Check) string {
	if r.Fsync != nil && r.Persistence != nil && *r.Persistence == "aof" {
		return "aof " + *r.Fsync
	}
	return output.Dash(r.Persistence)
}
