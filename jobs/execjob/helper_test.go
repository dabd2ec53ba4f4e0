//go:build linux || darwin

package execjob

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/jobs"
)

// The test binary is its own set of commands: with these variables it does not
// test, it does what helperMode says with the file helperFile.
const (
	helperMode = "EXECJOB_TEST_HELPER"
	helperFile = "EXECJOB_TEST_FILE"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperMode); mode != "" {
		if err := help(mode, os.Getenv(helperFile)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func help(mode, file string) error {
	switch mode {
	case "replica": // runs a stubborn command until it is killed
		h, err := tryBind(helperParams("stubborn", file), time.Hour)
		if err != nil {
			return err
		}
		return h(context.Background(), jobs.Run{})
	case "stubborn": // ignores SIGTERM and has a child that does
		signal.Ignore(syscall.SIGTERM)
		return helperCommand("leaf", file).Run()
	case "leaf": // ignores SIGTERM and writes down its group
		signal.Ignore(syscall.SIGTERM)
		return sleepAfter(note(file, strconv.Itoa(syscall.Getpgrp())))
	case "heavy parent":
		signal.Ignore(syscall.SIGTERM)
		cmd := helperCommand("heavy", file)
		cmd.Stdout, cmd.Stderr = nil, nil // the run must not wait for the output alone
		return cmd.Run()
	case "heavy": // takes the kernel a while to end, for its memory
		signal.Ignore(syscall.SIGTERM)
		memory := make([]byte, 128<<20)
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		err := sleepAfter(note(file, strconv.Itoa(syscall.Getpgrp())))
		runtime.KeepAlive(memory)
		return err
	case "careful parent": // dies of SIGTERM before its child has cleaned up
		return helperCommand("careful", file).Run()
	case "careful": // takes its time over SIGTERM
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		if err := note(file, "ready"); err != nil {
			return err
		}
		select {
		case <-term:
		case <-time.After(5 * time.Minute): // no request came, so do not stay forever
			return nil
		}
		time.Sleep(200 * time.Millisecond) // another process: there is no bubble
		return note(file, "cleaned")
	case "careless": // leaves a child behind
		return helperCommand("leaf", file).Start()
	case "deserter": // leaves a child behind that has left the group, output in hand
		cmd := helperCommand("sleep", file)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		return note(file, strconv.Itoa(cmd.Process.Pid))
	case "sleep":
		return sleepAfter(nil)
	}
	return fmt.Errorf("no helper %q", mode)
}

// sleepAfter sleeps longer than any test unless there is an error.
func sleepAfter(err error) error {
	if err == nil {
		time.Sleep(5 * time.Minute) // another process: there is no bubble
	}
	return err
}

// note writes text so that a reader sees all of it or nothing.
func note(file, text string) error {
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func helperCommand(mode, file string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperMode+"="+mode, helperFile+"="+file)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

func helperParams(mode, file string) map[string]any {
	return map[string]any{
		"command": []any{os.Args[0]},
		"env":     map[string]any{helperMode: mode, helperFile: file},
	}
}

func tryBind(params map[string]any, margin time.Duration) (jobs.Handler, error) {
	r := jobs.NewRegistry()
	Register(r)
	return r.Bind("exec", params, jobs.Limits{SafetyMargin: margin})
}

func bind(t *testing.T, params map[string]any) jobs.Handler {
	t.Helper()
	h, err := tryBind(params, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// shell returns the params of a shell script.
func shell(script string) map[string]any {
	return map[string]any{"command": []any{"sh", "-c", script}}
}

// with returns params with one more.
func with(params map[string]any, key string, value any) map[string]any {
	params[key] = value
	return params
}

// noteFile names a file that a helper writes.
func noteFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "note")
}

// read returns the text of a file, empty as long as there is none.
func read(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// eventually waits until true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	over := time.After(30 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// requireGone fails unless the process group has no living member.
func requireGone(t *testing.T, group string) {
	t.Helper()
	if pids := groupMembers(t, group); len(pids) > 0 {
		t.Errorf("group %s is left with %v", group, pids)
	}
}

func groupMembers(t *testing.T, group string) []int {
	t.Helper()
	id, err := strconv.Atoi(group)
	if err != nil {
		t.Fatal(err)
	}
	pids, err := members(id)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// A logBook is a log that can be read line by line.
type logBook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBook) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(b, nil)) }

type logLine struct{ Msg, Stream, Line string }

func (b *logBook) lines(t *testing.T) []logLine {
	t.Helper()
	var all []logLine
	for line := range bytes.Lines(b.buf.Bytes()) {
		var l logLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

func (b *logBook) texts(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, l := range b.lines(t) {
		all = append(all, l.Line)
	}
	return all
}
