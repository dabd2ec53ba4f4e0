package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A result is how a run of tests ended.
type result struct {
	built  bool
	failed string // the first test that failed; empty if none did
	died   bool   // the test binary ended before its tests did
	// messages are what the tests that failed said, subtests first.
	messages []string
	output   string
}

// building are flags of go test. With -trimpath every copy of the module is built from the same
// cache. Without tables for debuggers linking takes half the time.
var building = []string{"-tags=promtool", "-trimpath", "-ldflags=-s -w", "-vet=off"}

// pattern matches the names of the tests.
func (t tests) pattern() string { return "^(" + strings.Join(t.names, "|") + ")$" }

// goTest runs tests of the module at dir. Its error says that they could not be run.
func goTest(ctx context.Context, dir string, t tests) (result, error) {
	args := slices.Concat([]string{"test", "-json"}, building, []string{"-count=1", "-failfast", "-timeout=10m", "-run", t.pattern(), "."}, t.args)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(dir, t.pkg) // also where that is a module of its own
	out, stderr, exit, err := run(ctx, cmd)
	if err != nil {
		return result{}, err
	}
	r, err := read(out)
	if err != nil {
		return result{}, fmt.Errorf("reading what go test said: %w: %s", err, stderr)
	}
	r.output += stderr
	if (exit == nil) == (r.failed != "" || !r.built) {
		return result{}, fmt.Errorf("go test: %w: %s", exit, r.output)
	}
	return r, nil
}

// run returns what a command printed, and how it failed. Its error says that it did not run to
// its end.
func run(ctx context.Context, cmd *exec.Cmd) (stdout []byte, stderr string, failure *exec.ExitError, err error) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a terminal sends it to the tests too
	cmd.WaitDelay = 10 * time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err = cmd.Output()
	if ctx.Err() != nil {
		return nil, "", nil, context.Cause(ctx)
	}
	if failure, ok := errors.AsType[*exec.ExitError](err); ok {
		return stdout, errs.String(), failure, nil
	}
	return stdout, errs.String(), nil, err
}

// An event is what go test -json says.
type event struct {
	Action, Test, Output, FailedBuild string
}

// read takes what go test -json said apart.
func read(out []byte) (result, error) {
	r, running, said := result{built: true}, []string{}, map[string][]string{}
	for line := range bytes.Lines(out) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return result{}, err
		}
		r.output += e.Output
		if e.Action == "output" && e.Test != "" {
			said[e.Test] = append(said[e.Test], e.Output)
		}
		if e.Action == "fail" {
			r.messages = append(r.messages, messages(said[e.Test])...)
		}
		name, _, sub := strings.Cut(e.Test, "/")
		switch {
		case e.FailedBuild != "":
			r.built = false
		case e.Action == "run" && !sub:
			running = append(running, name)
		case e.Action == "fail" && name != "" && r.failed == "":
			r.failed = name
		case e.Action == "fail" && name == "" && r.failed == "":
			// It died, as it does of a panic, while some of these ran.
			r.died, r.failed = true, strings.Join(running, ", ")
		case e.Action == "pass" && !sub && len(running) > 0:
			running = without(running, name)
		}
	}
	return r, nil
}

func without(list []string, name string) []string {
	var rest []string
	for _, s := range list {
		if s != name {
			rest = append(rest, s)
		}
	}
	return rest
}
