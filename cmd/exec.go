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

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler/listing"
	"github.com/quorate/quorate/scheduler/replica"
)

// Main is the whole binary: it runs the command line of the process with the
// functions of registry and exits. A user's own binary is
//
//	func main() {
//		registry := jobs.NewRegistry()
//		jobs.Register(registry, "report", report)
//		cmd.Main(registry)
//	}
//
// The first SIGINT or SIGTERM ends the command's context, which drains a
// replica; a second one makes it cancel its jobs at once. SIGHUP makes it read
// its configuration again.
func Main(registry *jobs.Registry) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := App{
		Name: programName(os.Args[0]), Registry: registry, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Hard: secondSignal(ctx), Hangup: make(chan os.Signal, 1),
	}
	os.Exit(app.Exec(ctx, os.Args[1:]))
}

// secondSignal returns a channel that closes at the second signal.
func secondSignal(first context.Context) <-chan struct{} {
	hard := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// This goroutine lives as long as the process: it waits for its end.
	go func() {
		<-first.Done()
		<-signals // the first one, delivered here as well
		<-signals
		close(hard)
	}()
	return hard
}

// An App is the command line with its surroundings, so that tests run it
// without a process.
type App struct {
	// Name is what the binary is called in help, completion and messages.
	// Default: quorate.
	Name     string
	Registry *jobs.Registry
	In       io.Reader
	Out, Err io.Writer
	// Hard, when closed, makes a draining replica cancel its jobs at once.
	Hard <-chan struct{}
	// Hangup is where `run` has SIGHUP delivered, which makes it read its
	// configuration again. Other commands end by it.
	Hangup chan os.Signal
}

// Exit codes.
const (
	exitDone     = 0
	exitFailed   = 1
	exitUsage    = 2 // bad usage or configuration
	exitNotFound = 3
	exitNoQuorum = 4
)

// Exec runs one command and returns the exit code. Errors go to a.Err, each in
// one line that says what to do.
func (a App) Exec(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	for _, line := range report(err) {
		a.warn("%s", line)
	}
	return exitCode(err)
}

// report is what a person reads of err: a line per mistake in a configuration,
// one line for everything else.
func report(err error) []string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' })
	if _, ok := errors.AsType[*replica.ConfigError](err); ok {
		return lines
	}
	line := strings.Join(lines, "; ")
	if errors.Is(err, nodes.ErrBlank) {
		line += "; the first replica that starts sets blank nodes up, and if they are new, quorate nodes init spares it the grace"
	}
	return []string{line}
}

// A usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var usage usageError
	var config *replica.ConfigError
	switch {
	case errors.As(err, &usage), errors.As(err, &config):
		return exitUsage
	case errors.Is(err, listing.ErrNotFound):
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
			return usageError{fmt.Errorf("%w; write %s, or see %s --help", err, strings.TrimSuffix(c.UseLine(), " [flags]"), c.CommandPath())}
		}
		return nil
	}
}

// noArgs refuses arguments; cobra's own check suggests subcommands instead.
func noArgs(c *cobra.Command, args []string) error { return refuse(c, "unexpected", args) }

// noCommand refuses what is not one of the commands.
func noCommand(c *cobra.Command, args []string) error { return refuse(c, "unknown command", args) }

// refuse says what is wrong with the first of args, and which command of c was
// meant.
func refuse(c *cobra.Command, why string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	if near := jobs.Nearest(args[0], names); near != "" {
		return fmt.Errorf("%s %q: did you mean %s?", why, args[0], near)
	}
	return fmt.Errorf("%s %q", why, args[0])
}
