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

// A cli is one command line: the program with the flags that several commands have.
type cli struct {
	App

	config            string
	set               []string
	server, tokenFile string // of the API, which replaces the store
	format            string // of a listing: table or json
	by, reason        string // of an act
}

// source is where the configuration is read from.
func (a *cli) source() config.Source {
	return config.Source{Path: a.config, Set: a.set}
}

func newRoot(a *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   a.name(),
		Short: "Cron for services that run as N identical replicas",
		Long: `Quorate runs cron jobs on N identical replicas: every tick of a schedule runs
on exactly one replica. The store chooses it: PostgreSQL, or a quorum of
independent Redis masters. Every run carries a fencing token.

Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 not found,
4 the store, or a quorum of its nodes, did not answer.`,
		Example: `  quorate dev                         # try it: no store needed
  quorate validate --config prod.yaml
  quorate run --config prod.yaml
  quorate ticks nightly-report --limit 5`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
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
	root.PersistentFlags().StringVarP(&a.config, "config", "c", "", "configuration `file` (default $QUORATE_CONFIG, else ./config.yaml)")
	root.PersistentFlags().StringArrayVar(&a.set, "set", nil, "override a key of the configuration, `path=value` (jobs/nightly/timeout=5m); may be repeated")
	addCommands(root, a)
	completeShells(root)
	completeJobs(root, a)
	a.rename(root)
	return root
}

// addCommands adds all commands. A command takes no arguments unless it has a check of
// its own; wrong arguments are bad usage.
func addCommands(root *cobra.Command, a *cli) {
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run:"},
		&cobra.Group{ID: groupConfig, Title: "Check the configuration:"},
		&cobra.Group{ID: groupLook, Title: "Inspect the cluster (reads the store, needs no replica):"},
		&cobra.Group{ID: groupAct, Title: "Act on the whole cluster (recorded in the audit log):"},
	)
	type build = func(*cli) *cobra.Command
	for group, commands := range map[string][]build{
		groupRun:    {runCommand, devCommand, healthCommand},
		groupConfig: {validateCommand, schemaCommand, nextCommand, explainCommand, importCommand, usersCommand},
		groupLook:   {jobsCommand, ticksCommand, runsCommand, logsCommand, replicasCommand, locksCommand, nodesCommand, storeCommand, topCommand},
		groupAct:    {triggerCommand, pauseCommand, resumeCommand, pausesCommand, backfillCommand, cancelCommand, auditCommand},
		"":          {versionCommand},
	} {
		for _, build := range commands {
			c := build(a)
			if c.GroupID = group; group == groupLook || group == groupAct {
				c.PersistentFlags().StringVar(&a.server, "server", "", "ask the API of a replica at this `URL` instead of the store (token: $QUORATE_TOKEN)")
				c.PersistentFlags().StringVar(&a.tokenFile, "token-file", "", "`file` with the token for --server")
			}
			root.AddCommand(c)
		}
	}
	eachCommand(root, func(c *cobra.Command) {
		if c.Args == nil {
			c.Args = noArgs
		}
		c.Args = usage(c.Args)
	})
}

// eachCommand calls do for c and all commands below it.
func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, do)
	}
}
