package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/onestore"
	"github.com/quorate/quorate/internal/onestore/claims"
	"github.com/quorate/quorate/internal/store/postgres"
)

func storeCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Set up and check one store: PostgreSQL",
		Long: `Set up and check the store of a configuration with a postgres section. Redis nodes
have quorate nodes.`,
	}
	c.AddCommand(storeMigrateCommand(a), storeInitCommand(a), storeCheckCommand(a))
	return c
}

func storeMigrateCommand(a *cli) *cobra.Command {
	var show bool
	var role string
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables, or bring them to this release",
		Long: `Make the schema that namespace names, with its tables and functions, or bring it to
this release. You can repeat it. Replicas of the previous release go on meanwhile.

--print only prints the SQL, for who runs it by other means. --role also prints what a
role needs that is not the owner: the rights to call the functions, and no more.`,
		Example: `  quorate store migrate --config prod.yaml
  quorate store migrate --print --role app | psql`,
		RunE: func(c *cobra.Command, _ []string) error {
			if show || role != "" {
				return printMigrations(a, role)
			}
			return a.onStore(c, func(ctx context.Context, s *onestore.Cluster) error {
				server, ok := s.Server.(*postgres.Store)
				if !ok {
					return failure.Usagef("this store has no tables: there is nothing to migrate")
				}
				steps, err := server.Migrate(ctx)
				if err != nil {
					return err
				}
				for _, m := range steps {
					fmt.Fprintln(a.Out, "done:", m.Name)
				}
				fmt.Fprintf(a.Out, "%s is ready for this release\n", server.Name())
				return nil
			})
		},
	}
	c.Flags().BoolVar(&show, "print", false, "print the SQL and change nothing")
	c.Flags().StringVar(&role, "role", "", "print the rights of this `role`, too")
	return c
}

// printMigrations prints the SQL of a new schema.
func printMigrations(a *cli, role string) error {
	cfg, err := config.ReadCluster(a.source())
	if err != nil {
		return err
	}
	text := postgres.Script(cfg.Namespace, 0)
	if role != "" {
		text += postgres.Grants(cfg.Namespace, role)
	}
	_, err = fmt.Fprintln(a.Out, strings.TrimSpace(text))
	return err
}

func storeInitCommand(a *cli) *cobra.Command {
	var restored bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Declare the store new, so that it grants ticks at once",
		Long: `Declare that nothing was ever claimed in this store. It grants ticks at once instead
of after postgres.failover_grace. Run it before the first replica starts: a store with
claims refuses it. You can repeat it.

--restored is for the opposite case: the store was restored from a dump or a snapshot,
which looks like the server of before. No tick runs for one grace.`,
		Example: `  quorate store init --config prod.yaml
  quorate store init --restored`,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.onStore(c, func(ctx context.Context, s *onestore.Cluster) error {
				if restored {
					if err := claims.DeclareRestored(ctx, s.Server); err != nil {
						return err
					}
					fmt.Fprintln(a.Out, "the store is declared restored: it abstains for one failover_grace")
					return nil
				}
				if err := claims.DeclareNew(ctx, s.Server); err != nil {
					return err
				}
				fmt.Fprintln(a.Out, "the store is declared new")
				return nil
			})
		},
	}
	c.Flags().BoolVar(&restored, "restored", false, "the store was restored from a dump or a snapshot: it abstains for one grace")
	return c
}

func storeCheckCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the store: its settings, standbys, clock and distance",
		Long: `Check the store: what it would lose in a crash or a failover, its clock, and its
distance. Findings say what to do.

Exit code 0 if nothing must be done, 1 if something must, 4 if the store does not answer.`,
		Example: "  quorate store check",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withStore(c.Context(), func(s *cluster.Store) error {
				if _, err := s.OneStore(c.CommandPath()); err != nil {
					return err
				}
				return checkCluster(c.Context(), a, s)
			})
		},
	}
	outputFlag(c, a)
	return c
}

// onStore calls do with the one store of the configuration.
func (a *cli) onStore(c *cobra.Command, do func(context.Context, *onestore.Cluster) error) error {
	return a.withStore(c.Context(), func(s *cluster.Store) error {
		one, err := s.OneStore(c.CommandPath())
		if err != nil {
			return err
		}
		return do(c.Context(), one)
	})
}
