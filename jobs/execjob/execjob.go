package execjob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/quorate/quorate/internal/mask"
	"github.com/quorate/quorate/jobs"
)

// Register registers the job "exec".
func Register(r *jobs.Registry) { jobs.Register(r, "exec", do) }

// do runs the command of p. It returns when the whole process group is gone.
func do(ctx context.Context, run jobs.Run, p Params) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: the command was not started", context.Cause(ctx))
	}
	g, err := newGroup()
	if err != nil {
		return fmt.Errorf("starting the guard of the command: %w", err)
	}
	out, err := newOutput(run.Logger, mask.From(ctx))
	if err != nil {
		return errors.Join(fmt.Errorf("piping the command's output: %w", err), g.close())
	}
	cmd := exec.Command(p.Command[0], p.Command[1:]...) //nolint:noctx // the whole group is ended
	cmd.Dir, cmd.Env = p.Dir, environment(run, p)
	cmd.Stdout, cmd.Stderr = out.stdout.w, out.stderr.w
	if err := g.start(cmd); err != nil {
		out.finish()
		return errors.Join(fmt.Errorf("starting the command: %w", err), g.close())
	}
	out.closeWriters()

	stopped, err := supervise(ctx, g, cmd, p.KillGrace, run.Logger)
	closed := g.close()
	out.finish()
	out.logEnd()
	return errors.Join(verdict(ctx, stopped, err, out.tail.String()), closed)
}

// supervise returns the error of cmd.Wait. It ends the group when ctx ends, and then
// sets stopped, or when cmd leaves processes behind.
func supervise(ctx context.Context, g *group, cmd *exec.Cmd, grace time.Duration, log *slog.Logger) (stopped bool, err error) {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		err = cmd.Wait()
	}()
	select {
	case <-exited:
	case <-ctx.Done():
		select {
		case <-exited: // both at once: it was not stopped
		default:
			stopped = true
		}
	}
	if left := g.others(); stopped || left > 0 {
		if !stopped {
			log.Warn("ending processes that the command left behind", slog.Int("processes", left))
		}
		g.stop(grace, exited)
	}
	<-exited
	return stopped, err
}

// verdict turns the end of the command into the error of the run.
func verdict(ctx context.Context, stopped bool, err error, output string) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = &ExitError{Code: exit.ExitCode(), Status: exit.String(), Output: output}
	}
	switch {
	case stopped && err != nil:
		return fmt.Errorf("%w: the command was stopped: %w", context.Cause(ctx), err)
	case stopped:
		return fmt.Errorf("%w: the command was stopped and exited with status 0", context.Cause(ctx))
	}
	return err
}

// An ExitError is a command that ended with a status other than 0.
type ExitError struct {
	// Code is the exit status, -1 if a signal ended the command.
	Code int
	// Status is "exit status 3" or "signal: killed", for example.
	Status string
	// Output is the end of what the command wrote to standard output and error.
	Output string
}

// Error returns the status and the output.
func (e *ExitError) Error() string {
	if e.Output == "" {
		return e.Status
	}
	return e.Status + ": " + e.Output
}
