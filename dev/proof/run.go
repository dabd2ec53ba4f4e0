package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// logs is where a part's output goes.
const logs = "bin/proof"

// run runs the parts, with variables of make, and writes their pages: two that wait beside one that computes, and
// then those that measure, each alone. The error names those that failed.
func (t *tree) run(ctx context.Context, list []part, variables ...string) error {
	lanes := newLanes(list)
	loads := []load{waits, waits, computes}
	errs := make([]error, len(loads), len(loads)+1)
	var beside sync.WaitGroup
	for i, l := range loads {
		beside.Go(func() {
			errs[i] = t.oneByOne(ctx, func() (part, bool) { return lanes.take(l, waits+computes-l) }, variables)
		})
	}
	beside.Wait()
	errs = append(errs, t.oneByOne(ctx, func() (part, bool) { return lanes.take(measures, measures) }, variables))
	return errors.Join(errs...)
}

// lanes are the parts that have not begun, by load.
type lanes struct {
	mu   sync.Mutex
	left map[load][]part
}

func newLanes(list []part) *lanes {
	l := &lanes{left: map[load][]part{}}
	for _, p := range list {
		l.left[p.load] = append(l.left[p.load], p)
	}
	return l
}

// take takes the first part with a load, or the last with another one, so that no lane is idle.
func (l *lanes) take(of, other load) (p part, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.left[of]; len(list) > 0 {
		l.left[of] = list[1:]
		return list[0], true
	}
	list := l.left[other]
	if len(list) == 0 {
		return p, false
	}
	l.left[other] = list[:len(list)-1]
	return list[len(list)-1], true
}

func (t *tree) oneByOne(ctx context.Context, next func() (part, bool), variables []string) error {
	var errs []error
	for p, ok := next(); ok; p, ok = next() {
		if ctx.Err() != nil {
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
		errs = append(errs, t.runPart(ctx, p, variables))
	}
	return errors.Join(errs...)
}

// runPart runs one part. An interrupted one leaves the page of its last run.
func (t *tree) runPart(ctx context.Context, p part, variables []string) error {
	path := filepath.Join(t.root, logs, p.name+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	arguments := append(strings.Fields(p.target), variables...)
	command := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory"}, arguments...)...)
	command.Dir, command.Stdout, command.Stderr = t.root, log, log
	// Not a part of the make that may have started this program.
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") })
	// What compiles gives way to what runs: a test that waits for a processor takes servers for dead.
	command.Env = append(command.Env, "GOFLAGS=-toolexec=nice "+os.Getenv("GOFLAGS"))
	// All that it starts ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second

	fmt.Fprintf(t.out, "%s: begins, see %s/%s.log\n", p.name, logs, p.name)
	h := head{Part: p.name, Date: time.Now().UTC().Format(time.DateOnly), Machine: t.machine, Command: "make " + strings.Join(arguments, " "), Load: []string{machineLoad()}}
	begun := time.Now()
	ran := command.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", p.name, context.Cause(ctx))
	}
	if command.ProcessState == nil {
		return fmt.Errorf("%s was not started: %w", p.name, ran)
	}
	h.Result, h.Seconds = "passed", int(time.Since(begun).Seconds())
	h.ProcessorSeconds = int((command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds())
	h.Load = append(h.Load, machineLoad())
	output, readErr := os.ReadFile(path)
	if ran == nil && strings.Contains(string(output), "[no tests to run]") && !strings.Contains(string(output), "--- PASS: Test") {
		ran = errors.New("no test ran")
	}
	if ran != nil {
		h.Result = "FAILED"
	}
	// As it is now: a commit meanwhile would not be what was run.
	if h.Commit, err = t.commit(ctx); err == nil && h.Commit != t.begunAt {
		h.Result += ", while the tree changed from " + t.begunAt
	}
	err = errors.Join(err, readErr, t.writePage(p, h, string(output)))
	fmt.Fprintf(t.out, "%s: %s in %d s, %d s of the processor\n", p.name, h.Result, h.Seconds, h.ProcessorSeconds)
	if ran != nil {
		err = errors.Join(err, fmt.Errorf("%s failed, see %s/%s.log: %w", p.name, logs, p.name, ran))
	}
	return err
}

// machineLoad is the average number of processes that ran or were ready in the last minute;
// empty if the system does not say.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	average, _, _ := strings.Cut(string(text), " ")
	return average
}
