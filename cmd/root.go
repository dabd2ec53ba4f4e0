package cmd

import (
	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/internal/config"
)

// Groups of commands, as the help lists them.
const (
	groupRun    = "run"
	groupConfig = "config"
	groupLook   = "look"
	groupAct    = "act"
)

// flags are the flags of every command.
type flags struct {
	config            string
	set               []string
	server, tokenFile string // of the API, which replaces the nodes
}

// source is where the configuration is read from.
func (f *flags) source() config.Source {
	return config.Source{Path: f.config, Set: f.set}
}

func (a App) root() *cobra.Command {
	var f flags
	root := &cobra.Command{
		Use:   a.name(),
		Short: "Cron for services that run as N identical replicas",
		Long: `Quorate runs cron jobs on N identical replicas: every tick of a schedule runs
on exactly one replica. A quorum of independent Redis masters chooses it. Every
run carries a fencing token.

Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 not found,
4 fewer than a quorum of nodes answered.`,
		Example: `  quorate dev                         # try it: no Redis needed
  quorate validate --config prod.yaml
  quorate run --config prod.yaml
  quorate ticks nightly-report --limit 5`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(noCommand),
		Version:       a.versionLine(),
		RunE: func(c *cobra.Command, _ []string) error {
			return c.Help()
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return failure.Usagef("%w; see %s --help", err, c.CommandPath())
	})
	root.PersistentFlags().StringVarP(&f.config, "config", "c", "", "configuration `file` (default $QUORATE_CONFIG, else ./config.yaml)")
	root.PersistentFlags().StringArrayVar(&f.set, "set", nil, "override a key of the configuration, `path=value` (jobs/nightly/timeout=5m); may be repeated")
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run:"},
		&cobra.Group{ID: groupConfig, Title: "Check the configuration:"},
		&cobra.Group{ID: groupLook, Title: "Inspect the cluster (reads the nodes, needs no replica):"},
		&cobra.Group{ID: groupAct, Title: "Act on the whole cluster (recorded in the audit log):"},
	)
	for group, commands := range map[string][]*cobra.Command{
		groupRun:    {a.runCommand(&f), a.devCommand(&f)},
		groupConfig: {a.validateCommand(&f), a.schemaCommand(), a.nextCommand(&f), a.explainCommand(&f), a.usersCommand()},
		groupLook:   {a.jobsCommand(&f), a.ticksCommand(&f), a.runsCommand(&f), a.logsCommand(&f), a.replicasCommand(&f), a.locksCommand(&f), a.nodesCommand(&f), a.topCommand(&f)},
		groupAct:    {a.triggerCommand(&f), a.pauseCommand(&f), a.resumeCommand(&f), a.pausesCommand(&f), a.backfillCommand(&f), a.cancelCommand(&f), a.auditCommand(&f)},
	} {
		for _, c := range commands {
			if c.GroupID = group; group == groupLook || group == groupAct {
				c.PersistentFlags().StringVar(&f.server, "server", "", "ask the API of a replica at this `URL` instead of the nodes (token: $QUORATE_TOKEN)")
				c.PersistentFlags().StringVar(&f.tokenFile, "token-file", "", "`file` with the token for --server")
			}
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.versionCommand())
	completeShells(root)
	completeJobs(root, &f)
	a.rename(root)
	return root
}
