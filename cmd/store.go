package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
)

func storeCommand(a *cli) *cobra.Command {
	c := &cobra.Command{
		Use:   "store",
		Short: "Set up, check and copy the store: a database, or the Redis nodes",
		Long: `Set up and check the store of the configuration: a database, or the Redis nodes. Copy
it to another one. quorate nodes lists Redis nodes and changes their list.`,
		Example: `  quorate store check
  quorate store init --config prod.yaml`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(storeMigrateCommand(a), storeInitCommand(a), storeCheckCommand(a), storeCopyCommand(a))
	return c
}

// A migration is what quorate store migrate is asked for.
type migration struct {
	print bool
	from  int // the version to print from; negative: that of the store
	role  string
}

func storeMigrateCommand(a *cli) *cobra.Command {
	var m migration
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Make the tables of PostgreSQL or MySQL, or bring them to this release",
		Long: `Make the schema or database that namespace names, with its tables, or bring it to this
release. You can repeat it. Replicas of the previous release continue, and
can be restarted unless the changelog says otherwise. Other stores have no tables to make.

--print changes nothing. It prints the SQL of the steps that the store lacks, for those
who run it with another tool. With --from it does not read the store, and prints the
steps after that version; 0 prints all of them.

--role prints also the GRANT statements for replicas whose role does not own the tables.
On MySQL a role is USER, from any host, or USER@HOST.`,
		Example: `  quorate store migrate --config prod.yaml
  quorate store migrate --print --role app | psql -v ON_ERROR_STOP=1 "$OWNER_URL"
  quorate store migrate --print --from 0 > schema.sql`,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("from") {
				m.from = -1
			} else if m.from < 0 {
				return failure.Usagef("--from %d: write a version from 0", m.from)
			}
			return a.onTables(c, func(ctx context.Context, s kv.Migrator) error {
				if m.print || m.role != "" || m.from >= 0 {
					return m.printSQL(ctx, a.Out, s)
				}
				steps, err := s.Migrate(ctx)
				if err != nil {
					return err
				}
				for _, step := range steps {
					fmt.Fprintln(a.Out, "done:", step.Name)
				}
				fmt.Fprintf(a.Out, "%s is ready for this release\n", s.Name())
				return nil
			})
		},
	}
	c.Flags().BoolVar(&m.print, "print", false, "print the SQL of the missing steps and change nothing")
	c.Flags().IntVar(&m.from, "from", 0, "print the steps after this `version`, without reading the store")
	c.Flags().StringVar(&m.role, "role", "", "print the rights of this `role`, too")
	return c
}

// printSQL prints the SQL of the steps that are missing.
func (m migration) printSQL(ctx context.Context, w io.Writer, s kv.Migrator) (err error) {
	last := len(s.Migrations())
	switch {
	case m.from > last:
		return failure.Usagef("--from %d: write a version from 0 to %d", m.from, last)
	case m.from < 0:
		if m.from, err = s.Version(ctx); err != nil {
			return err
		}
	}
	text := "-- the tables are those of this release\n"
	if m.from < last {
		text = s.Script(m.from)
	}
	if m.role != "" {
		text += s.Grants(m.role)
	}
	_, err = fmt.Fprintln(w, strings.TrimSpace(text))
	return err
}

const storeInitText = `Declare that the store, or the blank Redis nodes, never served this namespace. The
store grants ticks at once instead of after its grace, such as redis.restart_grace or
postgres.failover_grace. Run it before the first replica starts: a store with claims, or
with nodes that a replica has written to, refuses it. You can repeat it.

--restored is for the opposite case: the store was restored from a dump or a snapshot,
and looks like the one of before. Use it too after a MySQL server was cloned or rolled
back, and after a copy over a SQLite file. No tick runs for one grace, on etcd and
ZooKeeper for one and a half. Pauses and other commands made since the dump are lost:
make them again. Redis nodes need no declaration: they notice a restart.

--ahead is for PostgreSQL, MySQL or SQLite whose clock was ahead and is right again. Tokens
only grow, so without it no tick runs until the clock has reached them. With it the store
continues from its highest token. Do not use it while the clock is wrong. Should another server
take over before the clock has reached the tokens, no tick runs until it has.

--recover is for Redis: a node is lost for good, and keeps blank nodes from being
formatted. It formats the blank nodes if a quorum answers. They abstain for one grace.

--service NAME keeps the name of the service that the namespace belongs to, in place of
another, and declares nothing. Replicas that name another service, or none, do not start;
those that run continue until their next start.`

func storeInitCommand(a *cli) *cobra.Command {
	var d declaration
	var service string
	c := &cobra.Command{
		Use:   "init",
		Short: "Declare the store new, so that it grants ticks at once",
		Long:  storeInitText,
		Example: `  quorate store init --config prod.yaml
  quorate store init --service billing
  quorate store init --restored
  quorate store init --ahead
  quorate store init --recover`,
		RunE: func(c *cobra.Command, _ []string) error {
			named := c.Flags().Changed("service")
			switch err := config.CheckService(service); {
			case named && d != declaration{}:
				return failure.Usagef("--service stands alone: it declares nothing")
			case d.ahead && (d.restored || d.recovery):
				return failure.Usagef("--ahead stands alone")
			case named && err != nil:
				return failure.Usagef("--service: %w", err)
			}
			return a.withStore(c.Context(), func(s *cluster.Store) error {
				if !named {
					return d.declare(c.Context(), a, s)
				}
				kept, err := s.Kept.Service(c.Context(), service, true)
				if err == nil {
					fmt.Fprintf(a.Out, "%s belongs to service %s\n", s.Service().Name, kept)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&d.restored, "restored", false, "a store other than Redis was restored from a dump or a snapshot: it abstains for a grace")
	c.Flags().BoolVar(&d.ahead, "ahead", false, "the clock of PostgreSQL, MySQL or SQLite was ahead and is right again: the store continues from its tokens")
	c.Flags().BoolVar(&d.recovery, "recover", false, "format the blank Redis nodes if a quorum answers; they abstain for one grace")
	c.Flags().StringVar(&service, "service", "", "the `name` of the service that the namespace belongs to from now on")
	return c
}

// A declaration is what quorate store init is asked for; without a flag, that the store is new.
type declaration struct{ restored, recovery, ahead bool }

// declare makes the declaration, and says so.
func (d declaration) declare(ctx context.Context, a *cli, s *cluster.Store) error {
	done := "the store is declared new"
	var err error
	switch onNodes := s.Nodes != nil; {
	case onNodes && d.ahead:
		return failure.Usagef("--ahead is for stores other than Redis: Redis grants ticks again when its clock has reached its tokens")
	case onNodes && d.restored:
		return failure.Usagef("--restored is for stores other than Redis: after a restart Redis abstains by itself")
	case !onNodes && d.recovery:
		return failure.Usagef("--recover is for Redis nodes: after a restore of one store write --restored")
	case onNodes:
		err = s.Nodes.Init(ctx, d.recovery)
		if d.recovery {
			done = fmt.Sprintf("the blank nodes of namespace %s are formatted, and abstain for %v", s.Nodes.Namespace(), s.Nodes.Grace())
		} else if !s.Nodes.OneStore() {
			done = fmt.Sprintf("all %d nodes of namespace %s are declared new", s.Nodes.Len(), s.Nodes.Namespace())
		}
	case d.ahead:
		var until time.Time
		until, err = s.One.DeclareAhead(ctx)
		done = fmt.Sprintf("the store continues from its highest token. Until %s its tokens are ahead of its clock: should another server take over before, no tick runs until then", jobs.FormatTick(until))
	case d.restored:
		err = s.One.DeclareRestored(ctx)
		done = "the store is declared restored: it abstains for a grace. Make the pauses again that were made since the dump"
	default:
		err = s.One.DeclareNew(ctx)
	}
	if err == nil {
		fmt.Fprintln(a.Out, done)
	}
	return err
}

// onTables calls do with the store of the configuration, if that has tables.
func (a *cli) onTables(c *cobra.Command, do func(context.Context, kv.Migrator) error) error {
	return a.withStore(c.Context(), func(s *cluster.Store) error {
		if s.One == nil {
			return failure.Usagef("%s is for one store, and this configuration has Redis nodes", c.CommandPath())
		}
		server, ok := s.One.Server.(kv.Migrator)
		if !ok {
			return failure.Usagef("this store has no tables: there is nothing to migrate")
		}
		return do(c.Context(), server)
	})
}

// errUnwell is the error of store check after it has printed its findings.
var errUnwell = errors.New("some findings need attention; see above")

func storeCheckCommand(a *cli) *cobra.Command {
	return listing(a, &cobra.Command{
		Use:   "check",
		Short: "Check the store: what it may lose, its clock, its distance, and when to restart it",
		Long: `Check the store: what it would lose in a crash, a restart or a failover, its clock, its
distance, whether it takes writes, and from when on it grants ticks. Findings say what
to do. To find out, it writes a record that nothing reads, and needs a replica's rights.

A database: its settings, and its standbys. Redis nodes: each node, whether it evicts
keys or runs out of memory, and whether the next node may be restarted while a quorum
votes without it.

Exit code 0 if nothing must be done, 1 if you must act or wait, 4 if the store, or a
quorum of its nodes, does not answer.`,
		Example: `  quorate store check
  until quorate store check; do sleep 5; done   # then restart the next Redis node`,
		RunE: a.onCluster(func(ctx context.Context, cl cluster.Cluster, _ []string) error {
			c, err := cl.Check(ctx)
			if err != nil {
				return err
			}
			for _, row := range c.Rows {
				for i, f := range row.Findings {
					row.Findings[i].Text = a.own(f.Text)
				}
			}
			if err := cmp.Or(printCheckup(a.Out, c, a.format), c.Silent()); err != nil || !c.Unwell() {
				return err
			}
			return errUnwell
		}),
	})
}

// printCheckup prints the rows, and below a table the findings and the advice.
func printCheckup(w io.Writer, c view.Checkup, format string) error {
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

func storeCopyCommand(a *cli) *cobra.Command {
	var paths [2]string
	var by string
	c := &cobra.Command{
		Use:   "copy --from FILE --to FILE",
		Short: "Copy everything to another store, while no replica runs",
		Long: `Copy the ledger with its logs, the pauses, open requests, the audit log and the jobs
to the store of another configuration. Each may be any store that this program can use. No
tick runs a second time, and tokens continue to grow.

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
			return copyStore(c.Context(), a, paths, cmp.Or(by, whoami()))
		},
	}
	c.Flags().StringVar(&paths[0], "from", "", "configuration `file` of the source")
	c.Flags().StringVar(&paths[1], "to", "", "configuration `file` of the target")
	asFlag(c, &by)
	return c
}

// copyStore copies from the store of one configuration to that of another.
func copyStore(ctx context.Context, a *cli, paths [2]string, by string) (err error) {
	var sides [2]store.Side
	for i, path := range paths {
		s, err2 := cluster.Open(ctx, config.Source{Path: path, Set: a.set}, a.Registry, a.Stores)
		if err2 != nil {
			return err2
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		sides[i] = s.Kept.Side(s.Namespace)
	}
	n, err := store.Copy(ctx, sides[0], sides[1], by)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "copied %s to %s: %d runs of %d names with %d logs, %d ticks that did not run, %d commands, %d pauses, %d open requests\n",
		sides[0].Name(), sides[1].Name(), n.Runs, n.Names, n.Logs, n.NotRun, n.Commands, n.Pauses, n.Requests)
	output.Remark(a.Out, "next", "start the replicas with "+paths[1]+", and never again with "+paths[0]+": the stores do not know of each other")
	return nil
}
