package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
)

// withCluster calls fn with the server that the flags name, else with the store.
func (a *cli) withCluster(ctx context.Context, fn func(cluster.Cluster) error) error {
	if a.server == "" {
		return a.withStore(ctx, func(s *cluster.Store) error { return fn(s) })
	}
	s, err := cluster.NewServer(a.server, a.tokenFile)
	if err != nil {
		return err
	}
	return fn(s)
}

// withStore calls fn with the store, for what the API cannot do.
func (a *cli) withStore(ctx context.Context, fn func(*cluster.Store) error) error {
	if err := a.noServer(); err != nil {
		return err
	}
	s, err := cluster.Open(ctx, a.source(), a.Registry, a.Stores)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

// noServer refuses --server for what the API cannot do.
func (a *cli) noServer() error {
	if a.server == "" {
		return nil
	}
	return failure.Usagef("the API cannot do this: leave out --server, and name the store with --config")
}

// onCluster returns the RunE of a command that works on a cluster.
func (a *cli) onCluster(do func(context.Context, cluster.Cluster, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		return a.withCluster(c.Context(), func(cl cluster.Cluster) error { return do(c.Context(), cl, args) })
	}
}

// listRows returns the RunE of a command that prints one listing.
func listRows[R any](a *cli, read func(cluster.Cluster, context.Context) ([]R, error), table func([]R) output.Table[R]) func(*cobra.Command, []string) error {
	return a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
		rows, err := read(cl, ctx)
		return printRows(a, table, rows, err)
	})
}

// printRows prints the rows that were read.
func printRows[R any](a *cli, table func([]R) output.Table[R], rows []R, err error) error {
	if err != nil {
		return err
	}
	return table(rows).Print(a.Out, a.format)
}

// asOfNow builds a table that shows ages.
func asOfNow[R any](table func([]R, time.Time) output.Table[R]) func([]R) output.Table[R] {
	return func(rows []R) output.Table[R] { return table(rows, time.Now()) }
}
