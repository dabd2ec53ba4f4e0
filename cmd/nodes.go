package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

func nodesCommand(a *cli) *cobra.Command {
	c := listing(a, &cobra.Command{
		Use:   "nodes",
		Short: "List the Redis nodes: which vote, and why and until when the others do not",
		Long: `List the Redis nodes: which vote, and why and until when the others do not. SINCE is the
time from which on a node remembers. RUN is the start of its server's run_id, which
changes when the node restarts. EPOCH counts the changes of the node list. OFFSET is
the node's clock minus this machine's. Exit code 4 if fewer than a quorum answer;
abstaining nodes answer.

The command is for lists of Redis nodes. For one store see quorate store check.`,
		Example: `  quorate nodes
  quorate nodes change --config prod.yaml --to new.yaml --dry-run`,
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
			rows, err := cl.Nodes(ctx)
			switch {
			case err != nil:
				return err
			case len(rows) > 0 && rows[0].Kind == view.KindStore:
				return failure.Usagef("this cluster has one store and no Redis nodes: see quorate store check")
			}
			return cmp.Or(printNodes(a.Out, rows, a.format), view.Quorate(rows))
		}),
	})
	c.AddCommand(nodesChangeCommand(a))
	return c
}

// printNodes prints the rows, and remarks below a table.
func printNodes(w io.Writer, list []view.Node, format string) error {
	if err := nodeListing(list).Print(w, format); err != nil || format == "json" {
		return err
	}
	for _, row := range list {
		if notes := output.NodeNotes(row); notes != "" {
			output.Remark(w, row.Node, notes)
		}
	}
	return nil
}

func nodeListing(list []view.Node) output.Table[view.Node] {
	return output.Table[view.Node]{
		Columns: []string{"NODE", "STATE", "SINCE", "VOUCHES", "RUN", "EPOCH", "OFFSET"},
		Cells: func(r view.Node) []string {
			return []string{
				r.Node, r.State, remembers(r), vouches(r), fmt.Sprintf("%.8s", output.Dash(r.RunID)), output.Dash(r.Epoch), output.Millis(r.OffsetMilli),
			}
		},
		Rows: list,
		Drop: []string{"EPOCH", "RUN"},
		Cut:  []string{"NODE"},
	}
}

// remembers shows since when the node remembers.
func remembers(r view.Node) string {
	switch {
	case r.Since != nil:
		return (*r.Since)[:len(time.DateTime)] + "Z" // without the milliseconds
	case r.State == "voting":
		return "declared new"
	}
	return "-"
}

func vouches(r view.Node) string {
	switch {
	case r.State == "voting":
		return "now"
	case r.VouchesAt != nil && r.State == "abstaining":
		return "from " + (*r.VouchesAt)[len("2006-01-02T"):len(time.DateTime)] + "Z"
	}
	return "-"
}

func nodesChangeCommand(a *cli) *cobra.Command {
	var to string
	var dryRun bool
	c := &cobra.Command{
		Use:   "change --to FILE",
		Short: "Move the cluster to another list of nodes",
		Long: `Move the cluster from the nodes in --config to those in FILE. The command first seals
a quorum of the old list, which then grants nothing, and then opens the new list.
Nodes in both lists keep their data; the others must be empty.

You can interrupt the command at any time, and run it again from any machine until it
reports that the new list is open. Ticks are missed from the first seal until one
redis.restart_grace after the opening, and until the replicas are restarted with FILE.
Running jobs lose their leases.`,
		Example: `  quorate nodes change --config prod.yaml --to new.yaml --dry-run
  quorate nodes change --config prod.yaml --to new.yaml`,
		RunE: func(c *cobra.Command, _ []string) error {
			if to == "" {
				return failure.Usagef("--to is missing: name the configuration with the new nodes")
			}
			if err := a.noServer(); err != nil {
				return err
			}
			change, err := readChange(a, to)
			if err != nil {
				return err
			}
			change.DryRun = dryRun
			change.Progress = func(text string) { fmt.Fprintln(a.Out, text) }
			if err := change.Run(c.Context()); err != nil {
				return err
			}
			if dryRun {
				fmt.Fprintln(a.Out, "nothing was changed; run it without --dry-run to do this")
				return nil
			}
			output.Remark(a.Out, "next", fmt.Sprintf(`restart every replica with the nodes that %s lists; ticks are missed until then, and until one restart_grace (%v) from now. When all are restarted, switch off the nodes that are in the old list only, or empty them, but not before. Nodes that were not sealed or opened above: run the same command again when they answer`,
				to, change.To.WithDefaults().Grace))
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "configuration `file` with the new list of nodes")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only read the nodes and print the steps")
	return c
}

// readChange reads both configurations. --set and the environment apply to both; if they
// override the node lists, both are equal, and the change is refused later.
func readChange(a *cli, to string) (membership.Change, error) {
	from, err := config.ReadCluster(a.source())
	if err != nil {
		return membership.Change{}, err
	}
	target, err := config.ReadCluster(config.Source{Path: to, Set: a.set})
	if err == nil && (from.OneStore() || target.OneStore()) {
		err = failure.Usagef("quorate nodes change moves from one list of Redis nodes to another; for one store see quorate store copy --help")
	}
	return membership.Change{From: from.Redis, To: target.Redis}, err
}
