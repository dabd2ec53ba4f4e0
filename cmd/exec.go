package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/quorate/quorate/cmd/internal/failure"
	"github.com/quorate/quorate/cmd/internal/systemd"
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
		Name: programName(os.Args[0]), Registry: registry, Stores: stores, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
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
	root := newRoot(&cli{App: a})
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	for _, line := range failure.Lines(err) {
		a.warn("%s", line)
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
