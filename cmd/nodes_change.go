package cmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler/replica"
)

func (a App) nodesChangeCommand(f *flags) *cobra.Command {
	var to string
	var dryRun bool
	c := &cobra.Command{
		Use:   "change --to FILE",
		Short: "Move the cluster to the list of nodes in another configuration",
		Long: `Move the cluster from the nodes that --config lists to those that FILE lists. A
quorum of the old list is sealed and grants nothing any more; then the new list is
opened. Nodes in both lists keep what they hold; the others must be empty.

The same command goes from one group of nodes to several cells, or to other cells:
then a quorum of every old cell is sealed before the first new one is opened, and
jobs that move leave their ledger behind. Of cells that are called the same only
those are changed whose nodes differ.

The command can be interrupted anywhere and run again, from any machine, until it
says that the new list is open. Ticks are missed from the first seals until one
redis.restart_grace after that, and until the replicas are restarted with FILE.
Runs under way lose their lease.`,
		Example: `  quorate nodes change --config prod.yaml --to new.yaml --dry-run
  quorate nodes change --config prod.yaml --to new.yaml`,
		Args: usage(noArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if to == "" {
				return usageError{errors.New("--to is missing: name the configuration that lists the new nodes")}
			}
			if err := f.noServer(); err != nil {
				return err
			}
			change, err := readChange(f, to)
			if err != nil {
				return err
			}
			change.DryRun = dryRun
			change.Progress = func(text string) { fmt.Fprintln(a.Out, text) }
			if err := change.Run(c.Context()); err != nil {
				return err
			}
			a.sayWhatNext(change, to)
			return nil
		},
	}
	c.Flags().StringVar(&to, "to", "", "configuration `file` with the new list of nodes")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "look at the nodes and say what would be done")
	return c
}

// readChange reads both configurations. What --set and the environment override
// they override in both, which for the lists themselves would make them equal:
// that is refused later, as no change.
func readChange(f *flags, to string) (nodes.LayoutChange, error) {
	from, err := replica.ReadCluster(f.source())
	if err != nil {
		return nodes.LayoutChange{}, err
	}
	source := f.source()
	source.Path = to
	target, err := replica.ReadCluster(source)
	return nodes.LayoutChange{From: from, To: target}, err
}

func (a App) sayWhatNext(c nodes.LayoutChange, to string) {
	if c.DryRun {
		fmt.Fprintln(a.Out, "nothing was changed; without --dry-run this is done")
		return
	}
	remark(a.Out, "next", fmt.Sprintf(`restart every replica with the nodes that %s lists; ticks are missed until then, and until one restart_grace (%v) from now. When all are restarted, switch off the nodes that are in the old list only, or empty them, but not before. Nodes that were not sealed or opened above: run the same command again when they answer`,
		to, c.To[0].WithDefaults().Grace))
}
