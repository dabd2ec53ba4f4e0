// Package execjob is the built-in job "exec": one command per run.
//
//	jobs:
//	  backup:
//	    func: exec
//	    schedule: "0 2 * * *"
//	    params:
//	      command: [/usr/local/bin/backup, --all]   # no shell; write [sh, -c, "…"] for one
//	      env: {PGPASSWORD: "${file:/run/secrets/pg}"}
//	      dir: /var/backups
//	      inherit_env: false                        # default: only PATH, HOME, TZ and LANG
//	      kill_grace: 1s                            # below lock.safety_margin; default: two thirds of it, at most 1s
//
// The environment has QUORATE_JOB, QUORATE_TICK (RFC 3339, UTC), QUORATE_TOKEN,
// QUORATE_ATTEMPT and QUORATE_REPLICA. That of a traced run has TRACEPARENT and TRACESTATE, unless env
// says otherwise. With inherit_env it also has the replica's
// variables, except for its settings and the secrets of its configuration. Standard
// input is empty. The output is logged line by line, and its end is kept in the error
// of a failed run.
//
// # No process is left behind
//
// The command and all its children are one process group. The run ends when the command
// has exited and the group is gone: processes that it left running are ended too, since
// no lease protects them. When the context of the run ends first, the group gets
// SIGTERM, and SIGKILL after kill_grace.
//
// The group also ends when the replica dies, even by SIGKILL:
//
//	replica ──pipe──► guard (/bin/sh, leader of the group)
//	   │                ▲ on end of file: SIGKILL to the group
//	   └──starts──► command ──► its children
//
// The guard ignores other signals, and reads from a pipe that only the replica can write
// to. When the replica dies the kernel closes the pipe, and the guard kills its group
// and itself. The command starts only after the guard has reported that it listens.
// The child that becomes the command holds the pipe open until it is in the group.
//
// # Limits
//
// These processes are not ended: one that leaves the group (setsid, a daemon), one that
// runs as another user (sudo), and those of a replica that is paused, not dead. In the
// last case the lease ends, and the token protects the sink.
//
// The package runs on Linux and macOS; elsewhere each run fails with a message.
package execjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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

// Params of the job "exec".
type Params struct {
	// Command is the program and its arguments. A program without a slash is looked up
	// in the replica's PATH. Required.
	Command []string `json:"command"`
	// Env is added to the command's environment.
	Env map[string]string `json:"env,omitempty"`
	// Dir is the command's working directory. Default: that of the replica.
	Dir string `json:"dir,omitempty"`
	// InheritEnv gives the command the replica's environment, instead of only PATH,
	// HOME, TZ and LANG. The replica's settings (QUORATE_*) and variables that hold
	// secrets of its configuration are left out.
	InheritEnv bool `json:"inherit_env,omitempty"`
	// KillGrace is the time between SIGTERM and SIGKILL. It must be below the safety
	// margin of the lock. Default: two thirds of that, at most 1s.
	KillGrace time.Duration `json:"kill_grace,omitempty"`
}

// Validate returns a *jobs.ParamError for each invalid param, joined.
func (p *Params) Validate() error {
	var errs []error
	if len(p.Command) == 0 || p.Command[0] == "" {
		errs = append(errs, paramError("is missing: write the program and its arguments as a list", "command"))
	}
	if len(p.Command) > 0 && strings.ContainsAny(p.Command[0], " \t\n") && !strings.Contains(p.Command[0], "/") {
		errs = append(errs, paramError("is no program: write its words as items of the list, or [sh, -c, …]", "command", "0"))
	}
	if strings.Contains(p.Dir, "\x00") {
		errs = append(errs, paramError("has a zero byte in it: remove it", "dir"))
	}
	for i, arg := range p.Command {
		if strings.Contains(arg, "\x00") {
			errs = append(errs, paramError("has a zero byte in it: remove it", "command", strconv.Itoa(i)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		errs = append(errs, validateEnv(name, p.Env[name]))
	}
	if p.KillGrace < 0 {
		errs = append(errs, paramError("must be positive: write a time such as 1s", "kill_grace"))
	}
	return errors.Join(errs...)
}

func validateEnv(name, value string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return paramError("is no name of an environment variable", "env", name)
	case slices.ContainsFunc(ownEnv(jobs.Run{}), func(own string) bool { return strings.HasPrefix(own, name+"=") }):
		return paramError("is set by quorate for every run: remove it", "env", name)
	case strings.Contains(value, "\x00"):
		return paramError("has a zero byte in it: remove it", "env", name)
	}
	return nil
}

// ValidateLimits returns a *jobs.ParamError if the command could outlive the lease. It sets
// the default of KillGrace, which depends on the limits.
func (p *Params) ValidateLimits(limits jobs.Limits) error {
	if p.KillGrace == 0 {
		p.KillGrace = min(time.Second, cmp.Or(limits.SafetyMargin*2/3, time.Second))
	}
	if limits.SafetyMargin > 0 && p.KillGrace >= limits.SafetyMargin {
		return paramError(fmt.Sprintf("is %v, but the lease ends %v (lock.safety_margin) after the command is told to stop: "+
			"write less than that, or raise the margin", p.KillGrace, limits.SafetyMargin), "kill_grace")
	}
	return nil
}

func paramError(msg string, path ...string) error {
	return &jobs.ParamError{Path: path, Msg: msg}
}

// ownEnv returns the variables that every command gets.
func ownEnv(run jobs.Run) []string {
	return []string{
		"QUORATE_JOB=" + run.Job,
		"QUORATE_TICK=" + jobs.FormatTick(run.Tick),
		"QUORATE_TOKEN=" + strconv.FormatUint(uint64(run.Token), 10),
		"QUORATE_ATTEMPT=" + strconv.Itoa(run.Attempt),
		"QUORATE_REPLICA=" + run.Replica,
	}
}

// environment returns the command's environment.
func environment(run jobs.Run, p Params) []string {
	var env []string
	if p.InheritEnv {
		env = run.Environ()
	} else {
		for _, name := range []string{"PATH", "HOME", "TZ", "LANG"} {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	// For duplicate names os/exec takes the last value.
	for name, value := range map[string]string{"TRACEPARENT": run.Traceparent, "TRACESTATE": run.Tracestate} {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, name+"="+p.Env[name])
	}
	return append(env, ownEnv(run)...)
}
