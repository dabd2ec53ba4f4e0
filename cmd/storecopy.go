package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/store/storecopy"
	"github.com/quorate/quorate/scheduler/acts"
)

func storeCopyCommand(a *cli) *cobra.Command {
	var paths [2]string
	c := &cobra.Command{
		Use:   "copy --from FILE --to FILE",
		Short: "Copy everything to another store, while no replica runs",
		Long: `Copy the ledger with its logs, the pauses, open requests, the audit log and the jobs
to the store of another configuration. It works between Redis nodes and PostgreSQL in
any direction. No tick runs a second time, and tokens continue to grow.

Stop all replicas first. The target must be empty. Make its tables with quorate store
migrate; of its Redis nodes all must answer. The source keeps everything. Until the
copy is complete, the target refuses replicas. If the copy is cut off, empty the target
and copy again.`,
		Example: `  quorate store copy --from redis.yaml --to postgres.yaml`,
		RunE: func(c *cobra.Command, _ []string) error {
			if paths[0] == "" || paths[1] == "" {
				return failure.Usagef("name the configuration of the source with --from, and that of the target with --to")
			}
			if err := a.noServer(); err != nil {
				return err
			}
			return copyStore(c.Context(), a, paths)
		},
	}
	c.Flags().StringVar(&paths[0], "from", "", "configuration `file` of the source")
	c.Flags().StringVar(&paths[1], "to", "", "configuration `file` of the target")
	c.Flags().StringVar(&a.by, "as", "", "your name in the audit log (default `user@host`)")
	return c
}

// copyStore copies from the store of one configuration to that of another.
func copyStore(ctx context.Context, a *cli, paths [2]string) (err error) {
	var sides [2]storecopy.Side
	for i, path := range paths {
		source := a.source()
		source.Path = path
		s, err2 := cluster.Open(ctx, source, a.Registry, a.Stores)
		if err2 != nil {
			return err2
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		sides[i] = s.Side()
	}
	n, err := storecopy.Run(ctx, sides[0], sides[1], a.sign(acts.Act{}).By)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "copied %s to %s: %d runs of %d names with %d logs, %d ticks that did not run, %d acts, %d pauses, %d open requests\n",
		sides[0].Name(), sides[1].Name(), n.Runs, n.Names, n.Logs, n.NotRun, n.Acts, n.Pauses, n.Requests)
	output.Remark(a.Out, "next", "start the replicas with "+paths[1]+", and never again with "+paths[0]+": the stores do not know of each other")
	return nil
}
