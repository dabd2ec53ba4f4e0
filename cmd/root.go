// Package cmd is the command line. A program with its own functions calls [Main]. The
// JSON that commands print (-o json) is a contract, which golden files pin.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/systemd"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/decode"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica"
)

// Main is the whole program: it runs the process's command line with the functions of
// the registry, and exits. A program with your own functions is
//
//	func main() {
//		registry := jobs.NewRegistry()
//		jobs.Register(registry, "report", report)
//		cmd.Main(registry)
//	}
//
// Stores are those that the program can use besides Redis nodes and PostgreSQL.
//
// The first SIGINT or SIGTERM ends the command's context, which drains a replica. A
// second one cancels its jobs at once. SIGHUP reloads its configuration.
func Main(registry *jobs.Registry, stores ...replica.Store) {
	logging.Disable() // of go-redis: the errors of its calls say all that its log would
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := App{
		Name: strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"), Registry: registry, Stores: stores, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Hard: secondSignal(ctx), Hangup: make(chan os.Signal, 1),
		systemd: systemd.Take(),
	}
	os.Exit(app.Exec(ctx, os.Args[1:]))
}

// secondSignal returns a channel that closes at the second signal.
func secondSignal(first context.Context) <-chan struct{} {
	hard := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// This goroutine ends with the process.
	go func() {
		<-first.Done()
		<-signals // the first one, which arrives here too
		<-signals
		close(hard)
	}()
	return hard
}

// An App is the command line with its environment, so tests can run it without a
// process.
type App struct {
	// Name of the program in help, completion and messages. Default: quorate.
	Name     string
	Registry *jobs.Registry
	// Stores are those that the program can use besides Redis nodes and PostgreSQL.
	Stores   []replica.Store
	In       io.Reader
	Out, Err io.Writer
	// Hard, once closed, makes a draining replica cancel its jobs.
	Hard <-chan struct{}
	// Hangup receives SIGHUP during `run`, which reloads the configuration. SIGHUP ends
	// other commands.
	Hangup chan os.Signal

	systemd *systemd.Manager // nil: it has not started this program
}

// Exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2 // bad usage or configuration
	exitNotFound = 3
	exitNoQuorum = 4
)

// Exec runs one command and returns the exit code. It writes one line per error to a.Err,
// which says what to do.
func (a App) Exec(ctx context.Context, args []string) int {
	c := &cli{App: a}
	root := newRoot(c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	for _, line := range failure.Lines(err) {
		c.warn("%s", line)
	}
	return exitCode(err)
}

func exitCode(err error) int {
	switch {
	case failure.IsUsage(err):
		return exitUsage
	case errors.Is(err, view.ErrNotFound):
		return exitNotFound
	case errors.Is(err, locking.ErrNoQuorum):
		return exitNoQuorum
	}
	return exitFailed
}

// usage marks the errors of an argument check as bad usage.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return failure.Usagef("%w; write %s, or see %s --help", err, strings.TrimSuffix(c.UseLine(), " [flags]"), c.CommandPath())
		}
		return nil
	}
}

// noArgs refuses arguments; unlike cobra's check it suggests no subcommands.
func noArgs(c *cobra.Command, args []string) error { return refuse(c, "unexpected", args) }

// noCommand refuses unknown commands.
func noCommand(c *cobra.Command, args []string) error { return refuse(c, "unknown command", args) }

// refuse returns an error about the first of args, with the most similar command of c.
func refuse(c *cobra.Command, why string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	if near := decode.Nearest(args[0], names); near != "" {
		return fmt.Errorf("%s %q: did you mean %s?", why, args[0], near)
	}
	return fmt.Errorf("%s %q", why, args[0])
}

// Groups of commands that work on the cluster.
const (
	groupLook    = "look"
	groupCommand = "act"
)

// A cli is one command line: the program with the flags that several commands have.
type cli struct {
	App

	config            string
	set               []string
	server, tokenFile string // of the API, which replaces the store
	format            string // of a listing: table or json

	advised *regexp.Regexp // commands in texts that name the product; nil: the binary has its name
}

// source is where the configuration is read from.
func (a *cli) source() config.Source {
	return config.Source{Path: a.config, Set: a.set}
}

// noStore is the source for commands that need no store.
func (a *cli) noStore() config.Source {
	return config.Source{Path: a.config, Set: a.set, NoStore: true}
}

func newRoot(a *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   a.name(),
		Short: "Cron for services that run as N identical replicas",
		Long: `Quorate runs cron jobs on N identical replicas: every tick of a schedule runs
on exactly one replica. The store chooses it: a database, or a quorum of
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
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if cause := errors.Unwrap(err); failure.IsUsage(cause) {
			return cause // it says what to write
		}
		return failure.Usagef("%w; see %s --help", err, c.CommandPath())
	})
	root.PersistentFlags().StringVarP(&a.config, "config", "c", "", "configuration `file` (default $QUORATE_CONFIG, else ./config.yaml)")
	root.PersistentFlags().StringArrayVar(&a.set, "set", nil, "override a key of the configuration, `path=value` (jobs/nightly/timeout=5m); may be repeated")
	addCommands(root, a)
	completeShells(root)
	completeFlags(root, a)
	a.rename(root)
	return root
}

// addCommands adds all commands. A command takes no arguments unless it has a check of
// its own; wrong arguments are bad usage.
func addCommands(root *cobra.Command, a *cli) {
	type builders = []func(*cli) *cobra.Command
	for _, group := range []struct {
		id, title string
		commands  builders
	}{
		{"run", "Run:", builders{runCommand, devCommand, healthCommand}},
		{"config", "Check the configuration:", builders{validateCommand, schemaCommand, nextCommand, explainCommand, importCommand, usersCommand}},
		{groupLook, "Inspect the cluster (reads the store, needs no replica):", builders{
			jobsCommand, ticksCommand, runsCommand, logsCommand, replicasCommand, locksCommand, nodesCommand, storeCommand, topCommand,
		}},
		{groupCommand, "Act on the whole cluster (recorded in the audit log):", builders{
			triggerCommand, pauseCommand, resumeCommand, pausesCommand, backfillCommand, cancelCommand, auditCommand,
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, build := range group.commands {
			c := build(a)
			if c.GroupID = group.id; group.id == groupLook || group.id == groupCommand {
				c.PersistentFlags().StringVar(&a.server, "server", "", "ask the API of a replica at this `URL` instead of the store (token: $QUORATE_TOKEN)")
				c.PersistentFlags().StringVar(&a.tokenFile, "token-file", "", "`file` with the token for --server")
			}
			root.AddCommand(c)
		}
	}
	root.AddCommand(versionCommand(a))
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

// product is the name of this project's binary.
const product = "quorate"

// name is the name of the binary.
func (a App) name() string { return cmp.Or(a.Name, product) }

// rename puts the binary's name into all help texts, and into later messages.
func (a *cli) rename(root *cobra.Command) {
	if a.name() == product {
		return
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	a.advised = regexp.MustCompile(`\b` + product + ` (` + strings.Join(names, "|") + `)\b`)
	eachCommand(root, func(c *cobra.Command) {
		c.Short, c.Long, c.Example = a.own(c.Short), a.own(c.Long), a.own(c.Example)
	})
}

// own puts the binary's name before the commands in a text.
func (a *cli) own(text string) string {
	if a.advised == nil {
		return text
	}
	return a.advised.ReplaceAllString(text, a.name()+" $1")
}

// say prints a message.
func (a *cli) say(format string, args ...any) {
	fmt.Fprintln(a.Out, a.own(fmt.Sprintf(format, args...)))
}

// warn prints a message to standard error.
func (a *cli) warn(format string, args ...any) {
	fmt.Fprintln(a.Err, a.name()+": "+a.own(fmt.Sprintf(format, args...)))
}

// warnOf prints a warning, unless it is empty.
func (a *cli) warnOf(text string) {
	if text != "" {
		a.warn("%s", text)
	}
}

// completeShells adds cobra's completion command. For an unknown shell cobra prints help;
// this returns an error.
func completeShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		return failure.Usagef("name a shell: %[1]s bash, fish, powershell or zsh; see %[1]s --help", c.CommandPath())
	}
}

func versionCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  quorate version",
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintf(a.Out, "%s\n", a.versionLine())
			return nil
		},
	}
}

// versionLine has the binary's name, version and build.
func (a App) versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return fmt.Sprintf("%s %s %s %s/%s%s", a.name(), Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commitOf(info))
}

// Version is the version of this binary: the module's tag, else the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if commit := setting(info, "vcs.revision"); len(commit) >= 12 {
		return "devel+" + commit[:12]
	}
	return "devel"
}

// commitOf is the commit and its date, as the end of a line. `go install` of a version
// knows neither.
func commitOf(info *debug.BuildInfo) string {
	commit := setting(info, "vcs.revision")
	if len(commit) < 12 {
		return ""
	}
	return fmt.Sprintf(" commit %s %s", commit[:12], setting(info, "vcs.time"))
}

// setting is a setting of the build, "" if it is not known.
func setting(info *debug.BuildInfo, key string) string {
	if info != nil {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}
